import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { checkTimeSeries, lastKnown, placeOf } from '../../src/tasks/time_series.js'

const { NaN: gap, POSITIVE_INFINITY: infinity } = Number
const check = (series: unknown) => checkTimeSeries('forecast', series as never)
const dates = (count: number) => Array.from({ length: count }, (_, k) => new Date(k))

describe('checkTimeSeries', () => {
  it.each([
    { values: [1] },
    { values: [gap, 1, gap] },
    { values: Float32Array.of(1, 2), dates: dates(2), name: 'north' },
    { values: Int32Array.of(1), covariates: { price: [1, gap], holiday: Float64Array.of(0) } },
  ])('accepts %o', (series) => {
    check(series)
  })

  it.each<[string, unknown, string]>([
    ['values that are not numbers', { values: ['1'] }, 'ERR_INVALID_ARGUMENT'],
    ['a big integer', { values: [1n] }, 'ERR_INVALID_ARGUMENT'],
    ['an object with a length', { values: { length: 1, 0: 1 } }, 'ERR_INVALID_ARGUMENT'],
    ['no values', {}, 'ERR_INVALID_ARGUMENT'],
    ['dates that are texts', { values: [1], dates: ['2024'] }, 'ERR_INVALID_ARGUMENT'],
    ['a date that is none', { values: [1], dates: [new Date(gap)] }, 'ERR_INVALID_ARGUMENT'],
    ['a covariate of texts', { values: [1], covariates: { price: ['a'] } }, 'ERR_INVALID_ARGUMENT'],
    ['a name that is a number', { values: [1], name: 3 }, 'ERR_INVALID_ARGUMENT'],
    ['fewer dates than values', { values: [1, 2], dates: dates(1) }, 'ERR_SERIES'],
    ['an infinite value', { values: [1, -infinity] }, 'ERR_SERIES'],
    ['missing values alone', { values: [gap, gap] }, 'ERR_SERIES'],
    ['an empty array', { values: [] }, 'ERR_SERIES'],
  ])('refuses %s', (_, series, code) => {
    expect(() => check(series)).toThrow(coded(code))
  })

  it('refuses elements that were transferred', () => {
    const values = Float64Array.of(1, 2)
    structuredClone(values, { transfer: [values.buffer] })
    expect(() => check({ values })).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'series.values' }))
  })

  it('names the series and the place', () => {
    expect(() => check({ name: 'north', values: [1, infinity] })).toThrow(
      'Cannot forecast as value 1 of series north must be finite, or NaN where it is missing: current value is Infinity',
    )
    expect(() => check({ values: [1], dates: dates(3) })).toThrow(
      'Cannot forecast as the series must have one date for each of its 1 values: current value is 3',
    )
  })
})

describe('lastKnown', () => {
  it.each([
    [[1, 2, gap], 1],
    [[gap, 1], 1],
    [[gap], -1],
    [[], -1],
  ])('of %o is %i', (values, expected) => {
    expect(lastKnown(values)).toBe(expected)
  })
})

describe('placeOf', () => {
  it.each([
    [undefined, 'the series'],
    ['', 'the series'],
    ['north', 'series north'],
  ])('of the name %o is %s', (name, expected) => {
    expect(placeOf({ values: [], name })).toBe(expected)
  })
})
