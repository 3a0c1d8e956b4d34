import {
  checkArguments,
  fields,
  integerFrom,
  kind,
  listOf,
  optional,
  TEXT,
  visibleText,
} from '@cudnn-rnn/canonical/rules'
import { escapeHtml } from './escape_html.js'

/** Rows of text under a header; columns beyond the first hold numbers and are set flush right. */
export interface ResultTable {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Index of the row that is set off as the best; none by default. */
  readonly best?: number | undefined
  /** Index of the row that has the color of our own results; none by default. */
  readonly ours?: number | undefined
}

const TABLE = fields({
  header: listOf(TEXT),
  rows: listOf(listOf(TEXT)),
  best: optional(integerFrom(0)),
  ours: optional(integerFrom(0)),
})
const SETTINGS = listOf(
  kind(
    'a pair [label, value]',
    (pair): pair is readonly [string, string] =>
      Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string'),
  ),
)

function checkTable(table: ResultTable): void {
  checkArguments('make a table', { table }, { table: TABLE })
  const { header, rows } = table
  const columns = kind(
    `a row of ${header.length} columns`,
    (row): row is readonly string[] => (row as readonly string[]).length === header.length,
  )
  checkArguments('make a table', { rows }, { rows: listOf(columns) })
}

/**
 * The table in plain text for a terminal, without its last line end.
 *
 * @example
 * ```ts
 * import { tableText } from '@cudnn-rnn/rnn/report'
 *
 * const rows = [
 *   ['cpu', '1.5'],
 *   ['reference', '120'],
 * ]
 * console.log(tableText({ header: ['executor', 'ms'], rows, best: 0 }).split('\n').length > 2) // true
 * ```
 */
export function tableText(table: ResultTable): string {
  checkTable(table)
  const header = table.header.map(visibleText)
  const rows = table.rows.map((row) => row.map(visibleText))
  const widths = header.map((_, column) => {
    return [header, ...rows].reduce((widest, row) => Math.max(widest, lengthOf(row[column])), 0)
  })
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const space = ' '.repeat(widths[column] - lengthOf(cell))
        return column === 0 ? cell + space : space + cell
      })
      .join('  ')
  return [header, widths.map((width) => '─'.repeat(width)), ...rows].map((row) => line(row).trimEnd()).join('\n')
}

/** The length of a text in code points: padding by JavaScript's length would shift rows with others than of the basic plane. */
function lengthOf(text: string): number {
  return Array.from(text).length
}

/**
 * The table as HTML.
 *
 * @example
 * ```ts
 * import { tableHtml } from '@cudnn-rnn/rnn/report'
 *
 * console.log(tableHtml({ header: ['executor', 'ms'], rows: [['cpu', '1.5']] }).includes('<table')) // true
 * ```
 */
export function tableHtml(table: ResultTable): string {
  checkTable(table)
  const { header, rows, best, ours } = table
  const cell = (tag: 'td' | 'th') => (text: string, column: number) =>
    `<${tag}${column > 0 ? ' class="number"' : ''}>${escapeHtml(visibleText(text)).replace(/(\d) %/g, '$1&nbsp;%')}</${tag}>`
  const body = rows.map((row, index) => {
    const classes = [...(index === ours ? ['ours'] : []), ...(index === best ? ['best'] : [])].join(' ')
    return `<tr${classes === '' ? '' : ` class="${classes}"`}>${row.map(cell('td')).join('')}</tr>`
  })
  return `<table><thead><tr>${header.map(cell('th')).join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`
}

/**
 * Labels and values, one pair per row: the settings of a run.
 *
 * @example
 * ```ts
 * import { settingsHtml } from '@cudnn-rnn/rnn/report'
 *
 * console.log(settingsHtml([['learning rate', '0.001']]).includes('learning rate')) // true
 * ```
 */
export function settingsHtml(settings: readonly (readonly [string, string])[]): string {
  const { settings: own } = checkArguments('make a table of settings', { settings }, { settings: SETTINGS })
  const rows = own.map(
    ([label, value]) =>
      `<tr><th scope="row">${escapeHtml(visibleText(label))}</th><td>${escapeHtml(visibleText(value))}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}
