import { expect, it } from 'vitest'
import { forecastTable, networkText } from '../../src/forecast/forecast_page.js'

/** A result whose forecasters have these mean absolute errors; the last one is the seasonal-naive forecast. */
const resultOf = (share: number, ...errors: readonly number[]) => {
  const backtests = errors.map((error, n) => ({ name: `forecaster ${n}`, forecasts: [[error]], actuals: [[0]] }))
  return { backtests, share } as unknown as Parameters<typeof forecastTable>[0]
}

it.each([
  [8, 10, '−20.0 %'],
  [12.5, 10, '+25.0 %'],
  [10, 10, '±0.0 %'],
  [0.001, 10, '−99.9 %'],
  [0, 10, '−100.0 %'],
  [30, 10, '+200.0 %'],
  [3, 0, '+3.0'],
  [0, 0, '±0.0 %'],
])('forecastTable of an error of %d against %d says %s', (mae, naive, expected) => {
  const { rows } = forecastTable(resultOf(1, mae, naive))
  expect(rows.map((row) => row.at(-1))).toEqual([expected, ''])
})

it.each([
  [0, [4, 4], 'adds nothing: it did not improve'],
  [0.5, [5, 4], 'adds nothing on the held-out values: with 50 % of its correction the error is 5.000'],
  [1, [3, 4], 'takes the error of the linear part from 4.000 to 3.000 (−25.0 %), with 100 % of its correction'],
])('networkText of the share %d and the errors %o', (share, errors, expected) => {
  const settings = { sizes: { cell: 'gru' } } as Parameters<typeof networkText>[0]['settings']
  expect(networkText({ settings }, resultOf(share, ...errors))).toMatch(`The GRU ${expected}`)
})
