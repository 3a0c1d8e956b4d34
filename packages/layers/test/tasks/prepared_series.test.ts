import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { covariateValues, prepareSeries, type SeriesEncoding } from '../../src/tasks/prepared_series.js'

const { NaN: gap } = Number
const PRICE = { name: 'price', isKnownAhead: true, mean: 10, deviation: 2 }
const VISITS = { name: 'visits', isKnownAhead: false, mean: 0, deviation: 1 }
const encoding = (changes: Partial<SeriesEncoding> = {}): SeriesEncoding => ({
  ...{ season: 1, horizon: 2, calendar: 'none', covariates: [] },
  ...changes,
})
const days = (count: number) => Array.from({ length: count }, (_, k) => new Date(Date.UTC(2024, 0, 1 + k)))

describe('prepareSeries', () => {
  it('ends at the last value, fills gaps and marks the filled values', () => {
    const { values, isKnown } = prepareSeries({ values: [1, gap, 3, gap, gap] }, encoding(), false)
    expect([...values]).toEqual([1, 2, 3])
    expect([...isKnown]).toEqual([1, 0, 1])
  })

  it('does not change the series', () => {
    const values = Float64Array.of(1, gap, 3)
    prepareSeries({ values }, encoding(), false)
    expect([...values]).toEqual([1, gap, 3])
  })

  it('scales covariates, those that are known ahead also past the last value', () => {
    const series = { values: [1, 2], covariates: { price: [10, 12, 14, 8, 99], visits: [5, 6, 7] } }
    const { covariates } = prepareSeries(series, encoding({ covariates: [PRICE, VISITS] }), true)
    expect(covariates.map((numbers) => [...numbers])).toEqual([
      [0, 1, 2, -1],
      [5, 6],
    ])
    expect(prepareSeries(series, encoding({ covariates: [PRICE] }), false).covariates[0]).toHaveLength(2)
  })

  it('has no calendar numbers without a calendar, and one row for each value with one', () => {
    const series = { values: [1, 2, gap], dates: days(3) }
    expect(prepareSeries(series, encoding(), false).calendar).toEqual([[], []])
    const { calendar } = prepareSeries(series, encoding({ calendar: 'week' }), false)
    expect(calendar.map((row) => row.indexOf(1))).toEqual([0, 1])
  })

  it.each([
    ['no dates', undefined],
    ['too few dates', days(1)],
    ['the same date again and again', [new Date(0), new Date(0), new Date(0)]],
  ])('refuses %s where the calendar needs them', (_, dates) => {
    expect(() => prepareSeries({ values: [1, 2, 3], dates }, encoding({ calendar: 'week' }), false)).toThrow(
      coded('ERR_SERIES', { value: dates?.length ?? 0 }),
    )
  })
})

describe('covariateValues', () => {
  it('fills gaps between known numbers', () => {
    const series = { values: [1, 2, 3], covariates: { price: [2, gap, 4] } }
    expect([...covariateValues(series, PRICE, 3, 0)]).toEqual([2, 3, 4])
  })

  it.each<[string, number[] | undefined, number, object, RegExp]>([
    ['none', undefined, 0, { needed: 3, length: 0 }, /must have 3 numbers in covariates.price: current number is 0/],
    ['too few', [1, 2], 0, { needed: 3, length: 2 }, /current number is 2/],
    ['none ahead', [1, 2, 3], 2, { needed: 5 }, /price: 3 steps up to its last value and 2 steps ahead: .* is 3/],
    ['missing numbers alone', [gap, gap, gap], 0, { covariate: 'price' }, /a magnitude up to 1e/],
    ['an infinite one', [1, Number.POSITIVE_INFINITY, 3], 0, { covariate: 'price' }, /a magnitude up to 1e/],
    ['a huge one', [1, 1e200, 3], 0, { covariate: 'price' }, /a magnitude up to 1e/],
  ])('refuses a covariate with %s', (_, price, ahead, fields, message) => {
    const series = { name: 'north', values: [1, 2, 3], ...(price && { covariates: { price } }) }
    expect(() => covariateValues(series, PRICE, 3, ahead)).toThrow(
      coded('ERR_COVARIATES', { message: expect.stringMatching(message), ...fields }),
    )
  })
})
