import { expect, it } from 'vitest'
import { decimalMarkOf, withPoint } from '../../src/forecast/decimal_mark.js'

it.each([
  [
    ['1,5', '20', '3,25'],
    [1.5, 20, 3.25],
  ],
  [
    ['1.234,5', '12', '-0,125'],
    [1234.5, 12, -0.125],
  ],
  [
    ['1234,567', '1,234'],
    [1234.567, 1.234],
  ],
  [
    ['1.5', '2'],
    [1.5, 2],
  ],
  [
    ['1,234.5', '950'],
    [1234.5, 950],
  ],
  [
    ['1,234,567', '1,234'],
    [1234567, 1234],
  ],
  [
    ['1.234', '5.678'],
    [1.234, 5.678],
  ],
  [
    ['1,5e3', ''],
    [1500, 0],
  ],
  [
    ['0,5', '1.5'],
    [0.5, Number.NaN],
  ],
  [
    ['x,y', '1'],
    [Number.NaN, 1],
  ],
])('%j are %j', (texts, numbers) => {
  const mark = decimalMarkOf('a.csv', 'sold', texts)
  expect(texts.map((text) => Number(withPoint(text, mark)))).toEqual(numbers)
})

it('refuses a column in which a comma may be of decimals or of thousands', () => {
  const refused = expect.objectContaining({ code: 'ERR_DATA_VALUE', row: 3, column: 'sold' })
  expect(() => decimalMarkOf('a.csv', 'sold', ['950', '1,234'])).toThrow(refused)
})
