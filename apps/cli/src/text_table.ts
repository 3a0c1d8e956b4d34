/** Lines of left-aligned columns under a header; columns named in `right` are right-aligned. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string[] {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        right.includes(header[column]!) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  return [line(header), ...rows.map(line)]
}
