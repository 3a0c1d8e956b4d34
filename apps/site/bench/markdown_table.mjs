/**
 * The table number `index` below a heading as `{ header, rows }`, cells as text without emphasis or code marks. Benchmarks write
 * the tables of their pages; charts read them, so that a number is in one place. Throws if there is no such table.
 */
export function markdownTable(markdown, heading, index = 0) {
  const lines = markdown.split('\n')
  const start = tableLine(lines, heading, index)
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'))
  const [header, , ...rows] = lines.slice(start, end === -1 ? undefined : end).map(cells)
  return { header, rows }
}

/** The line where the table number `index` of the section of a heading begins; no heading: of the page. */
export function tableLine(lines, heading, index = 0) {
  const from = heading === undefined ? 0 : headingLine(lines, heading)
  const next = lines.findIndex((line, at) => at > from && heading !== undefined && /^#{1,3} /.test(line))
  const starts = lines.flatMap((line, at) => {
    const inside = at >= from && (next === -1 || at < next)
    return inside && line.startsWith('|') && !lines[at - 1]?.startsWith('|') ? [at] : []
  })
  if (starts[index] === undefined)
    throw new Error(`Cannot draw a chart as there is no table ${index} below "${heading ?? 'the title'}"`)
  return starts[index]
}

export function headingLine(lines, heading) {
  const line = lines.findIndex((text) => /^#{1,3} /.test(text) && text.replace(/^#+ /, '') === heading)
  if (line === -1) throw new Error(`Cannot draw a chart as there is no heading "${heading}"`)
  return line
}

/** The first number of a text: `0.129 / 2.84` is 0.129, `12,569 tokens/s` is 12569. Throws if there is none. */
export function numberIn(text) {
  const [digits] = /-?\d[\d,]*(\.\d+)?/.exec(text) ?? []
  if (digits === undefined) throw new Error(`Cannot draw a chart as there is no number in "${text}"`)
  return Number(digits.replaceAll(',', ''))
}

/** A backslash keeps a bar inside its cell. */
function cells(line) {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) =>
      cell
        .trim()
        .replaceAll('\\|', '|')
        .replaceAll(/\*\*|`/g, ''),
    )
}
