import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type ResultTable, settingsHtml, tableHtml, tableText } from '../../src/report/index.js'

const table: ResultTable = {
  header: ['model', 'MAE'],
  rows: [
    ['LSTM <3>', '0.5'],
    ['naïve', '12.25'],
  ],
  best: 1,
  ours: 0,
}

it('tableText sets numbers flush right', () => {
  expect(tableText(table).split('\n')).toEqual([
    'model       MAE',
    '────────  ─────',
    'LSTM <3>    0.5',
    'naïve     12.25',
  ])
})

it('tableHtml marks the best row, colors our own, and shows text as text', () => {
  const { document } = parseHTML(`<body>${tableHtml(table)}</body>`)
  expect(document.querySelector('tr.best td')?.textContent).toBe('naïve')
  expect(document.querySelector('tr.ours td')?.textContent).toBe('LSTM <3>')
  expect([...document.querySelectorAll('td.number')].map((cell) => cell.textContent)).toEqual(['0.5', '12.25'])
})

it('tableHtml keeps a number and its percent sign on one line', () => {
  const html = tableHtml({ header: ['model', 'right'], rows: [['GRU', '97.5 % of 601']] })
  expect(html).toContain('<td class="number">97.5&nbsp;% of 601</td>')
})

it('settingsHtml labels every value', () => {
  const { document } = parseHTML(`<body>${settingsHtml([['Text', 'a < b']])}</body>`)
  expect(document.querySelector('th')?.textContent).toBe('Text')
  expect(document.querySelector('td')?.textContent).toBe('a < b')
})

it('tables show controls of their texts, and break no row at a line end', () => {
  const hostile: ResultTable = { header: ['name', 'n'], rows: [['a\x1b[2J\nfake\u202e', '1\u009b']] }
  for (const text of [tableText(hostile), tableHtml(hostile), settingsHtml([['a\n\x1b', '\u2066']])]) {
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  }
  expect(tableText(hostile).split('\n')).toHaveLength(3)
  expect(tableHtml(hostile)).toContain('a\\x1b[2J\\nfake\\u202e')
})

it('tableText takes more rows than a call has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, row) => [String(row), ''])
  expect(tableText({ header: ['row', ''], rows }).length).toBeGreaterThan(1_000_000)
})

it('tableText aligns columns after symbols of two UTF-16 units', () => {
  const text = tableText({
    header: ['name', 'n'],
    rows: [
      ['🐋 whale', '12'],
      ['sea', '3'],
    ],
  })
  expect(text.split('\n').map((row) => [...row].length)).toEqual([11, 11, 11, 11])
})

it('tableText of a header alone has no rows', () => {
  expect(tableText({ header: ['a', 'bc'], rows: [] })).toBe('a  bc\n─  ──')
})

it('tables mark no row if none is named', () => {
  const html = tableHtml({ header: ['a'], rows: [['1'], ['2']] })
  expect(html).not.toContain('class="ours')
  expect(html).not.toContain('best')
  expect(tableHtml({ header: ['a'], rows: [['1']], best: 0, ours: 0 })).toContain('<tr class="ours best">')
})

it.each<[string, unknown]>([
  ['a row with a cell less', { header: ['a', 'b'], rows: [['1']] }],
  ['a row with a cell more', { header: ['a'], rows: [['1', '2']] }],
  ['a number for a cell', { header: ['a'], rows: [[1]] }],
  ['no header', { rows: [] }],
])('tables refuse %s', (_, given) => {
  const code = coded('ERR_INVALID_ARGUMENT')
  expect(() => tableText(given as ResultTable)).toThrow(code)
  expect(() => tableHtml(given as ResultTable)).toThrow(code)
})
