import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { histogramOf } from '../../src/logs/histogram.js'

const total = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0)

describe('histogramOf', () => {
  it('has the moments of the values, and 30 buckets of equal width between the extremes', () => {
    const { counts, limits, ...moments } = histogramOf([0, 1, 2, 2, 30])
    expect(moments).toEqual({ min: 0, max: 30, num: 5, sum: 35, sumSquares: 909 })
    expect(limits).toEqual(Array.from({ length: 30 }, (_, k) => k + 1))
    expect(counts).toEqual([1, 1, 2, ...new Array(26).fill(0), 1])
  })

  it('puts the largest value into the last bucket', () => {
    const { counts, limits } = histogramOf(Float32Array.of(-1, 0.1, 0.7))
    expect([counts[0], counts[29], total(counts)]).toEqual([1, 1, 3])
    expect(limits[29]).toBe(Math.fround(0.7))
  })

  it('leaves out NaN and infinities', () => {
    const values = [Number.NaN, 1, Number.POSITIVE_INFINITY, 2, Number.NEGATIVE_INFINITY]
    expect(histogramOf(values)).toEqual(histogramOf([1, 2]))
  })

  it.each([
    ['nothing', []],
    ['values that are not finite', [Number.NaN, Number.POSITIVE_INFINITY]],
  ])('of %s has one empty bucket', (_, values) => {
    expect(histogramOf(values)).toEqual({ min: 0, max: 0, num: 0, sum: 0, sumSquares: 0, limits: [0], counts: [0] })
  })

  it.each([5, 0, -2.5e30])('of %d alone has a bucket with a width', (value) => {
    const { counts, limits, num } = histogramOf([value, value, value])
    expect([num, ...counts]).toEqual([3, 3, 0])
    expect(limits[0]).toBe(value)
    expect(limits[1]).toBeGreaterThan(value)
  })

  it.each([
    ['further apart than the largest number', [-1.7e308, 0, 1.7e308]],
    ['closer than a thirtieth of the smallest number', [0, Number.MIN_VALUE, Number.MIN_VALUE]],
    ['neighbors', [1, 1 + Number.EPSILON, 1 + Number.EPSILON]],
  ])('counts every value that is %s, below limits that are finite and do not fall', (_, values) => {
    const { counts, limits, min, max } = histogramOf(values)
    expect(total(counts)).toBe(3)
    expect(limits).toHaveLength(counts.length)
    for (const [index, limit] of limits.entries()) {
      expect(Number.isFinite(limit)).toBe(true)
      expect(limit).toBeGreaterThanOrEqual(limits[index - 1] ?? min)
    }
    expect(limits.at(-1)).toBeGreaterThanOrEqual(max)
  })

  it('refuses a value of another kind', () => {
    for (const values of [undefined, 3, 'abc', {}]) {
      expect(() => histogramOf(values as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    }
  })
})
