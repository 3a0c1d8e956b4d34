import { describe, expect, it } from 'vitest'
import { prepareSeries, type SeriesEncoding } from '../../src/tasks/prepared_series.js'
import { WindowEncoder } from '../../src/tasks/window_encoder.js'

const { NaN: gap } = Number
const SHAPE = { window: 4, horizon: 2, season: 2 }
const PLAIN: SeriesEncoding = { season: 2, horizon: 2, calendar: 'none', covariates: [] }
const ahead = { name: 'price', isKnownAhead: true, mean: 0, deviation: 1 }
const past = { name: 'visits', isKnownAhead: false, mean: 0, deviation: 1 }

const open = (values: number[], encoding = PLAIN, covariates = {}) => ({
  encoder: new WindowEncoder(SHAPE, encoding),
  series: prepareSeries({ values, covariates }, encoding, true),
})

describe('WindowEncoder.inputs', () => {
  it('are relative to the last value, in deviations of the window, with a mark for known values', () => {
    const { encoder, series } = open([9, 1, 3, gap, 3, 100])
    const { data, shape } = encoder.inputs([{ series, origin: 4 }])
    expect(shape).toEqual([4, 1, 2])
    const scale = encoder.scale({ series, origin: 4 })
    const values = Array.from(series.values.subarray(1, 5), (value) => Math.fround((value - 3) / scale))
    expect([...data]).toEqual(values.flatMap((value, t) => [value, t === 2 ? 0 : 1]))
  })

  it('do not depend on level and unit', () => {
    const numbers = [3, 1, 4, 1, 5, 9, 2, 6]
    const inputsOf = (values: number[]) => {
      const { encoder, series } = open(values)
      return [...encoder.inputs([{ series, origin: 6 }]).data]
    }
    const expected = inputsOf(numbers).map((value) => expect.closeTo(value, 5))
    expect(inputsOf(numbers.map((value) => 1000 + value))).toEqual(expected)
    expect(inputsOf(numbers.map((value) => 0.001 * value))).toEqual(expected)
  })

  it('put rows beside each other: [W,B,I]', () => {
    const { encoder, series } = open([1, 2, 3, 4, 5, 9])
    const places = [3, 4].map((origin) => ({ series, origin }))
    const { data, shape } = encoder.inputs(places)
    expect(shape).toEqual([4, 2, 2])
    for (const [row, place] of places.entries()) {
      const alone = encoder.inputs([place]).data
      for (let t = 0; t < 4; t++)
        expect([...data.subarray((2 * t + row) * 2, (2 * t + row + 1) * 2)]).toEqual([
          ...alone.subarray(2 * t, 2 * t + 2),
        ])
    }
  })

  it('have covariates of the step, and of a horizon later if they are known', () => {
    const encoding = { ...PLAIN, covariates: [past, ahead] }
    const covariates = { visits: [1, 2, 3, 4], price: [10, 20, 30, 40, 50, 60] }
    const { encoder, series } = open([5, 5, 5, 5], encoding, covariates)
    expect(encoder.inputSize).toBe(5)
    expect([...encoder.inputs([{ series, origin: 3 }]).data]).toEqual(
      [0, 1, 2, 3].flatMap((t) => [0, 1, t + 1, 10 * (t + 1), 10 * (t + 3)]),
    )
  })

  it('count the calendar', () => {
    expect(new WindowEncoder(SHAPE, { ...PLAIN, calendar: 'year' }).inputSize).toBe(6)
    expect(new WindowEncoder(SHAPE, { ...PLAIN, calendar: 'week', covariates: [ahead] }).inputSize).toBe(17)
  })
})

describe('WindowEncoder.scale', () => {
  it('is the deviation of the window alone, and 1 where all values are equal', () => {
    const { encoder, series } = open([100, 1, 3, 1, 3, 7, 7, 7, 7])
    expect(encoder.scale({ series, origin: 4 })).toBe(1)
    expect(encoder.scale({ series, origin: 5 })).toBeCloseTo(Math.sqrt(4.75), 12)
    expect(encoder.scale({ series, origin: 8 })).toBe(1)
  })
})

describe('WindowEncoder.linearInputs', () => {
  it('are the window without its last value, which is 0, the covariates, the calendar and a constant', () => {
    const encoding = { ...PLAIN, covariates: [past, ahead] }
    const covariates = { visits: [1, 2, 3, 4], price: [10, 20, 30, 40, 50, 60] }
    const { encoder, series } = open([7, 7, 7, 7], encoding, covariates)
    expect(encoder.linearInputs({ series, origin: 3 })).toEqual([0, 0, 0, 1, 2, 3, 4, 10, 20, 30, 40, 50, 60, 1])
  })
})

describe('WindowEncoder.anchor', () => {
  const { encoder, series } = open([1, 20, 3, 40, 5, 60])
  const anchors = (anchor: 'last' | 'seasonal_naive' | 'seasonal_mean') =>
    [1, 2, 3].map((steps) => encoder.anchor(anchor, { series, origin: 5 }, steps))

  it('repeats the last value, the last season, or the mean of the seasons in the window', () => {
    expect(anchors('last')).toEqual([60, 60, 60])
    expect(anchors('seasonal_naive')).toEqual([5, 60, 5])
    expect(anchors('seasonal_mean')).toEqual([4, 50, 4])
  })

  it('repeats the last season where the window is shorter than one', () => {
    const short = new WindowEncoder({ window: 2, horizon: 2, season: 4 }, PLAIN)
    expect(short.anchor('seasonal_mean', { series, origin: 5 }, 1)).toBe(3)
  })
})

describe('WindowEncoder.actuals', () => {
  it('are the actual values, not those that were filled in', () => {
    const { encoder, series } = open([1, 2, 3, 4, gap, 6])
    expect(encoder.actuals({ series, origin: 3 })).toEqual([gap, 6])
  })
})
