import { expect, it } from 'vitest'
import { coverageOf, forecastErrors, intervalWidths } from '../../src/forecast/backtest.js'
import { futureDates } from '../../src/forecast/future_dates.js'
import { LinearForecaster } from '../../src/forecast/linear_forecaster.js'

it('LinearForecaster continues a line and a sine, which are linear in their past', () => {
  const values = Float64Array.from({ length: 80 }, (_, k) => 5 + 0.5 * k + 3 * Math.sin(k / 2))
  const origins = Array.from({ length: 50 }, (_, k) => 10 + k)
  const forecaster = new LinearForecaster(values, { window: 6, horizon: 4, season: 1, heldOut: 10 }, origins)
  for (const [k, value] of forecaster.forecast(70).entries()) expect(value).toBeCloseTo(values[71 + k]!, 2)
})

it('forecastErrors, intervalWidths and coverageOf on numbers that can be followed', () => {
  const forecasts = [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
  ]
  const actuals = [
    [2, 1],
    [2, 4],
    [0, 3],
    [4, 8],
  ]
  const backtest = { name: 'test', forecasts, actuals }
  // Errors 1 0 | 0 2 | 3 0 | 0 4.
  expect(forecastErrors(backtest)).toEqual({ mae: 10 / 8, rmse: Math.sqrt(30 / 8) })
  // ⌈5·0.6⌉ = 3rd smallest of 0 0 1 3 and of 0 0 2 4.
  expect(intervalWidths(backtest, 0.6)).toEqual([1, 2])
  expect(coverageOf(backtest, [1, 2])).toBe(6 / 8)
})

it('futureDates continues by months, by the usual step, or not at all', () => {
  const days = (dates: readonly string[]) => futureDates(dates, 2)?.map((date) => date.toISOString().slice(0, 10))
  expect(days(['2019-11-01', '2019-12-01', '2020-01-01'])).toEqual(['2020-02-01', '2020-03-01'])
  expect(days(['2020-02-26', '2020-02-27', '2020-02-28'])).toEqual(['2020-02-29', '2020-03-01'])
  expect(days(['1', '2', '3'])).toBeUndefined()
})
