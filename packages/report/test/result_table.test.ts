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

it('tableHtml sets off the best row, colours our own, and shows text as text', () => {
  const { document } = parseHTML(`<body>${tableHtml(table)}</body>`)
  expect(document.querySelector('tr.best td')?.textContent).toBe('naïve')
  expect(document.querySelector('tr.ours td')?.textContent).toBe('LSTM <3>')
  expect([...document.querySelectorAll('td.number')].map((cell) => cell.textContent)).toEqual(['0.5', '12.25'])
})

it('settingsHtml labels every value', () => {
  const { document } = parseHTML(`<body>${settingsHtml([['Text', 'a < b']])}</body>`)
  expect(document.querySelector('th')?.textContent).toBe('Text')
  expect(document.querySelector('td')?.textContent).toBe('a < b')
})
