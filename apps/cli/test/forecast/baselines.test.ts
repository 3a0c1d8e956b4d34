import { expect, it } from 'vitest'
import { coverageOf, forecastErrors } from '../../src/forecast/backtest.js'
import { LinearForecaster } from '../../src/forecast/linear_forecaster.js'

it('LinearForecaster continues a line and a sine, which are linear in their past', () => {
  const values = Float64Array.from({ length: 80 }, (_, k) => 5 + 0.5 * k + 3 * Math.sin(k / 2))
  const origins = Array.from({ length: 50 }, (_, k) => 10 + k)
  const forecaster = new LinearForecaster(values, [], { window: 6, horizon: 4, season: 1, heldOut: 10 }, origins)
  for (const [k, value] of forecaster.forecast(70).entries()) expect(value).toBeCloseTo(values[71 + k], 2)
})

it('LinearForecaster reads covariates, and those ahead if they are known', () => {
  const promotions = Float64Array.from({ length: 120 }, (_, k) => Number((k * 7919) % 13 < 3))
  const values = promotions.map((promotion, k) => 5 + 0.1 * k + 30 * promotion)
  const origins = Array.from({ length: 80 }, (_, k) => 10 + k)
  const shape = { window: 6, horizon: 4, season: 1, heldOut: 10 }
  const errors = [[{ values: promotions, ahead: 4 }], [{ values: promotions, ahead: 0 }], []].map((covariates) => {
    const forecast = new LinearForecaster(values, covariates, shape, origins).forecast(100)
    return Math.max(...forecast.map((value, k) => Math.abs(value - values[101 + k])))
  })
  expect(errors[0]).toBeLessThan(0.05)
  expect(Math.min(...errors.slice(1))).toBeGreaterThan(1)
})

it('forecastErrors and coverageOf on numbers that can be followed, missing ones left out', () => {
  const forecasts = [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
  ]
  const actuals = [
    [2, 1],
    [2, 4],
    [0, Number.NaN],
    [4, 8],
  ]
  // Errors 1 0 | 0 2 | 3 – | 0 4.
  expect(forecastErrors({ name: 'test', forecasts, actuals })).toEqual({ mae: 10 / 7, rmse: Math.sqrt(30 / 7) })
  const intervals = forecasts.map((values) => ({
    low: values.map((value, k) => value - 1 - k),
    high: values.map((value, k) => value + 1 + k),
  }))
  expect(coverageOf(intervals, actuals)).toBe(5 / 7)
})
