import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, onTestFinished } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { intervalWidths } from '../../src/tasks/forecaster_training.js'
import { ForecasterTraining, loadForecaster, trainForecaster } from '../../src/tasks/index.js'

const DAY = 24 * 3600 * 1000
const SMALL = {
  season: 6,
  window: 12,
  horizon: 4,
  heldOut: 16,
  numUnits: 4,
  batchSize: 8,
  maxSteps: 30,
  seed: 1,
} as const
const wave = (k: number) => k / 4 + 5 * Math.sin((2 * Math.PI * k) / 6) + Math.sin(k * k)
const values = Float64Array.from({ length: 140 }, (_, k) => wave(k))

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tasks-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

describe('Forecaster', () => {
  it('forecasts the same after it was saved and loaded, and better than the seasonal-naive forecast', async () => {
    using backend = openReferenceBackend()
    using trained = await trainForecaster(backend, [{ values }], SMALL)
    const path = join(await folder(), 'sales')
    await trained.save(path)
    using loaded = await loadForecaster(backend, path)
    expect(loaded.record).toEqual(trained.record)
    const forecast = await loaded.forecast({ values })
    expect(forecast).toEqual(await trained.forecast({ values }))
    expect(forecast.origin).toBe(139)
    for (const [k, value] of forecast.values.entries()) {
      expect(forecast.low[k]).toBeLessThan(value)
      expect(forecast.high[k]).toBeGreaterThan(value)
    }
    const origins = Array.from({ length: 12 }, (_, n) => 123 + n)
    const errorOf = (own: (n: number, k: number) => number) =>
      origins
        .flatMap((origin, n) => [0, 1, 2, 3].map((k) => Math.abs(own(n, k) - values[origin + 1 + k])))
        .reduce((a, b) => a + b)
    const forecasts = await loaded.backtest({ values }, origins)
    const naive = errorOf((n, k) => forecasts[n].seasonalNaive[k])
    expect(forecasts[0].seasonalNaive).toEqual([...values.slice(118, 122)])
    expect(errorOf((n, k) => forecasts[n].values[k])).toBeLessThan(naive)
  })

  it('reads nothing after the origin, and neither level nor unit matter', async () => {
    using backend = openReferenceBackend()
    using forecaster = await trainForecaster(backend, [{ values }], SMALL)
    const [before] = await forecaster.backtest({ values }, [100])
    const [after] = await forecaster.backtest({ values: values.map((value, k) => (k > 100 ? 1e6 : value)) }, [100])
    expect(after).toEqual(before)
    const [other] = await forecaster.backtest({ values: values.map((value) => 1000 + 10 * value) }, [100])
    for (const [k, value] of before.values.entries()) expect(other.values[k]).toBeCloseTo(1000 + 10 * value, 2)
  })

  it('leaves missing values out: the forecast begins after the last one, and origins without one have none', async () => {
    using backend = openReferenceBackend()
    const gaps = values.map((value, k) => (k % 17 === 5 || k > 130 ? Number.NaN : value))
    using forecaster = await trainForecaster(backend, [{ values: gaps }], SMALL)
    const forecast = await forecaster.forecast({ values: gaps })
    expect(forecast.origin).toBe(130)
    expect(forecast.values.every(Number.isFinite)).toBe(true)
    expect((await forecaster.backtest({ values: gaps }, [106, 107, 108])).map(({ origin }) => origin)).toEqual([
      106, 108,
    ])
  })

  it('reads covariates that are known ahead, of several series', async () => {
    using backend = openReferenceBackend()
    const price = Float64Array.from({ length: 144 }, (_, k) => Math.round(3 * Math.sin(k * k * 3.7)))
    const series = [1, 10].map((unit) => ({
      name: `store ${unit}`,
      values: values.map((value, k) => unit * (value + 6 * price[k])),
      covariates: { price },
    }))
    const covariates = [{ name: 'price', isKnownAhead: true }]
    using forecaster = await trainForecaster(backend, series, { ...SMALL, covariates })
    using without = await trainForecaster(backend, series, SMALL)
    const errorOf = async (own: typeof forecaster) => {
      const forecasts = await own.backtest(series[1], [125, 130])
      const errors = forecasts.flatMap((each) =>
        each.values.map((value, k) => value - series[1].values[each.origin + 1 + k]),
      )
      return errors.reduce((sum, error) => sum + Math.abs(error), 0)
    }
    expect(await errorOf(forecaster)).toBeLessThan((await errorOf(without)) / 2)
    expect((await forecaster.forecast(series[0])).values).toHaveLength(4)
    const short = { ...series[0], covariates: { price: price.subarray(0, 141) } }
    await expect(forecaster.forecast(short)).rejects.toMatchObject({ code: 'ERR_COVARIATES', needed: 144, length: 141 })
    await expect(forecaster.forecast({ values })).rejects.toMatchObject({ code: 'ERR_COVARIATES' })
  })

  it('reads weekdays and the time of the year from dates, and then needs them', async () => {
    using backend = openReferenceBackend()
    const dates = Array.from({ length: 900 }, (_, k) => new Date(Date.UTC(2020, 0, 1) + k * DAY))
    const daily = dates.map((_, k) => 10 * Math.sin((2 * Math.PI * k) / 365.25) + Math.sin(k * k))
    const training = new ForecasterTraining(backend, [{ values: daily, dates }], { ...SMALL, season: 7, window: 14 })
    using forecaster = await training.finish()
    expect(forecaster.record.calendar).toBe('year')
    await expect(forecaster.forecast({ values: daily })).rejects.toMatchObject({ code: 'ERR_SERIES' })
  })

  it('predicts a constant series exactly', async () => {
    using backend = openReferenceBackend()
    const constant = new Float64Array(80).fill(1e12)
    using forecaster = await trainForecaster(backend, [{ values: constant }], { ...SMALL, season: 1 })
    const { values: forecast, low, high } = await forecaster.forecast({ values: constant })
    expect([forecast, low, high].flat()).toEqual(new Array(12).fill(1e12))
  })

  it('refuses a series whose values are all missing in a part, before anything is trained', () => {
    using backend = openReferenceBackend()
    // The 16 values before the last 16 are the calibration part.
    const holes = values.map((value, k) => (k >= 107 && k < 124 ? Number.NaN : value))
    const refused = coded('ERR_SERIES', { part: 'calibration' })
    expect(() => new ForecasterTraining(backend, [{ name: '', values: holes }], SMALL)).toThrow(refused)
    expect(backend.stats().tensors).toBe(0)
  })

  it('refuses series that are too short, infinite, without values, or of other kinds', async () => {
    using backend = openReferenceBackend()
    const train =
      (series: unknown[], options = {}) =>
      () =>
        new ForecasterTraining(backend, series as never, { ...SMALL, ...options })
    expect(train([])).toThrow(coded('ERR_SERIES'))
    expect(train([{ values: values.subarray(0, 20) }])).toThrow(coded('ERR_SERIES_TOO_SHORT'))
    expect(train([{ values: [1, Number.POSITIVE_INFINITY] }])).toThrow(coded('ERR_SERIES'))
    expect(train([{ values: [Number.NaN] }])).toThrow(coded('ERR_SERIES'))
    for (const scale of [1e306, 1e-310]) {
      expect(train([{ values: values.map((value) => scale * value) }])).toThrow(coded('ERR_SERIES'))
    }
    expect(train([{ values, dates: [new Date()] }])).toThrow(coded('ERR_SERIES'))
    expect(train([{ values: '1,2,3' }])).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(train([{ values }], { horizn: 3 })).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(train([{ values }], { covariates: [{ name: 'price' }] })).toThrow(coded('ERR_COVARIATES'))
    expect(train([{ values }], { covariates: [{ name: 'price', knownAhead: true }] })).toThrow(
      coded('ERR_UNKNOWN_OPTION', { suggestion: 'isKnownAhead' }),
    )
    using forecaster = await trainForecaster(backend, [{ values }], SMALL)
    await expect(forecaster.forecast({ values: values.subarray(0, 16) })).rejects.toMatchObject({ needed: 18 })
    await expect(forecaster.backtest({ values }, [138])).rejects.toMatchObject({ code: 'ERR_SERIES_TOO_SHORT' })
    const held = backend.stats().tensors
    expect(train([{ values: [1] }])).toThrow()
    expect(backend.stats().tensors).toBe(held)
  })
})

it('intervalWidths takes the smallest errors of each step that cover enough', () => {
  const errors = [
    [1, 0],
    [0, -2],
    [-3, Number.NaN],
    [0, 4],
  ]
  // ⌈5·0.6⌉ = 3rd smallest of 0 0 1 3; ⌈4·0.6⌉ = 3rd of 0 2 4.
  expect(intervalWidths(errors, 0.6)).toEqual([1, 4])
})
