import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { LinearBlend } from '../../src/tasks/linear_blend.js'
import { prepareSeries } from '../../src/tasks/prepared_series.js'
import { WindowEncoder } from '../../src/tasks/window_encoder.js'

const SHAPE = { window: 6, horizon: 3, season: 3 }
const READING = { season: 3, horizon: 3, calendar: 'none', covariates: [] } as const
const encoder = new WindowEncoder(SHAPE, READING)

/** Places of the first and of the second half of a series. */
function placesOf(values: number[]) {
  const series = prepareSeries({ values }, READING, false)
  const places = Array.from({ length: values.length - 6 - 3 - 2 }, (_, k) => ({ series, origin: 8 + k }))
  return { train: places.slice(0, places.length / 2), calibration: places.slice(places.length / 2) }
}
const fitted = (values: number[]) => {
  const { train, calibration } = placesOf(values)
  return { blend: LinearBlend.fit(encoder, train, calibration), train, calibration }
}

describe('LinearBlend.fit', () => {
  it('forecasts a series that is linear in its window', () => {
    const values = Array.from({ length: 90 }, (_, k) => 3 + 2 * k)
    const { blend, calibration } = fitted(values)
    const [place = calibration[0]] = calibration
    const forecast = blend.forecast(place)
    for (const [k, value] of forecast.entries()) expect(value).toBeCloseTo(values[place.origin + 1 + k], 1)
  })

  it('forecasts a season exactly, and gives the whole weight to exact members', () => {
    const values = Array.from({ length: 60 }, (_, k) => [5, -1, 2][k % 3])
    const { blend, calibration } = fitted(values)
    expect(blend.meanError(calibration)).toBeLessThan(1e-9)
    expect(blend.members.at(-1)).toEqual({ anchor: 'seasonal_naive', weight: 1 })
  })

  it('is not worse than its best member alone, on noise', () => {
    const random = new Philox(6)
    const values = Array.from({ length: 120 }, (_, k) => Math.sin(k) + 0.3 * random.normal())
    const { blend, calibration } = fitted(values)
    const errors = blend.members.map((member) =>
      new LinearBlend(encoder, [{ ...member, weight: 1 }]).meanError(calibration),
    )
    expect(blend.meanError(calibration)).toBeLessThanOrEqual(Math.min(...errors) * 1.05)
    // Weights fall with the fourth power of the error.
    const best = Math.min(...errors)
    for (const [index, { weight }] of blend.members.entries())
      expect(weight).toBeCloseTo((best / errors[index]) ** 4, 9)
  })

  it('is little bent by a few outliers', () => {
    const random = new Philox(7)
    const clean = Array.from({ length: 200 }, (_, k) => Math.sin((2 * Math.PI * k) / 3) + 0.05 * random.normal())
    const spoiled = clean.map((value, k) => (k === 40 || k === 71 ? value + 50 : value))
    const { calibration } = placesOf(clean)
    const errorOf = (values: number[]) => fitted(values).blend.meanError(calibration)
    expect(errorOf(spoiled)).toBeLessThan(1.5 * errorOf(clean))
  })
})

describe('LinearBlend.forecast', () => {
  const { train } = placesOf([1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6])
  const [place = train[0]] = train

  it('is the weighted mean of its members', () => {
    const last = { anchor: 'last', weight: 1 } as const
    const naive = { anchor: 'seasonal_naive', weight: 3 } as const
    const [a, b, both] = [[last], [naive], [last, naive]].map((members) =>
      new LinearBlend(encoder, members).forecast(place),
    )
    expect(both).toEqual(a?.map((value, k) => expect.closeTo((value + 3 * (b?.[k] ?? 0)) / 4, 12)))
  })

  it('adds changes in deviations of the window', () => {
    const inputs = encoder.linearInputs(place).length
    const constant = Array.from({ length: inputs }, (_, row) => (row === inputs - 1 ? [1, 2, 3] : [0, 0, 0]))
    const forecast = new LinearBlend(encoder, [{ anchor: 'last', weight: 2, coefficients: constant }]).forecast(place)
    const [value, scale] = [place.series.values[place.origin], encoder.scale(place)]
    expect(forecast).toEqual([1, 2, 3].map((change) => expect.closeTo(value + change * scale, 12)))
  })

  it('leaves out members of weight 0', () => {
    const members = [
      { anchor: 'last', weight: 1 },
      { anchor: 'seasonal_mean', weight: 0, coefficients: [[Number.NaN]] },
    ] as const
    expect(new LinearBlend(encoder, members).forecast(place)).toEqual(
      new LinearBlend(encoder, members.slice(0, 1)).forecast(place),
    )
  })
})

describe('LinearBlend.meanError', () => {
  it('is relative to the scale of each window', () => {
    const series = prepareSeries({ values: [0, 0, 0, 4, 0, 4, 0, 4, 0, 4, 6, 2] }, READING, false)
    const [last, place] = [new LinearBlend(encoder, [{ anchor: 'last', weight: 1 }]), { series, origin: 8 }]
    // The window 4, 0, 4, 0, 4, 0 has the deviation 2; the values after its last, 0, are 4, 6 and 2.
    expect(last.meanError([place])).toBeCloseTo((4 + 6 + 2) / 2 / 3, 12)
    expect(last.meanError([place, place])).toBeCloseTo(2, 12)
  })

  it('leaves out missing values, and is 0 where all are', () => {
    const values = [1, 2, 3, 1, 2, 3, 1, 2, 3, Number.NaN, Number.NaN, Number.NaN, 1, 2]
    const series = prepareSeries({ values }, READING, false)
    expect(new LinearBlend(encoder, [{ anchor: 'last', weight: 1 }]).meanError([{ series, origin: 8 }])).toBe(0)
  })
})
