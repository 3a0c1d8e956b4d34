import { visibleText } from '@cudnn-rnn/canonical/rules'

/** Lines of left-aligned columns under a header; columns named in `right` are right-aligned. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string[] {
  const shown = rows.map((row) => row.map(visibleText))
  const widths = header.map((title, column) => {
    return shown.reduce((widest, row) => Math.max(widest, row[column].length), title.length)
  })
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        right.includes(header[column]) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join('  ')
      .trimEnd()
  return [line(header), ...shown.map(line)]
}
