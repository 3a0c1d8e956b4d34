import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { type ResultTable, settingsHtml, tableHtml, tableText } from '../src/index.js'

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
