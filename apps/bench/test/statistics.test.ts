import { describe, expect, it } from 'vitest'
import { geometricMean, spreadOf } from '../src/statistics.js'

describe('spreadOf', () => {
  // numpy.quantile([9, 1, 4, 2], [0.25, 0.5, 0.75]) == [1.75, 3.0, 5.25]
  it('interpolates quartiles as NumPy does, in any order', () => {
    expect(spreadOf([9, 1, 4, 2])).toEqual({ median: 3, q1: 1.75, q3: 5.25, samples: 4 })
  })

  it('takes a single value for everything', () => {
    expect(spreadOf([7])).toEqual({ median: 7, q1: 7, q3: 7, samples: 1 })
  })

  it('leaves its argument as it was', () => {
    const values = [3, 1, 2]
    spreadOf(values)
    expect(values).toEqual([3, 1, 2])
  })
})

describe('geometricMean', () => {
  it('is the root of the product', () => {
    expect(geometricMean([0.5, 8, 2])).toBeCloseTo(2, 12)
  })
})

describe('spreadOf and geometricMean', () => {
  it('order the quartiles for any sample, between its extremes', () => {
    for (let length = 1; length <= 30; length++) {
      const values = Array.from({ length }, (_, k) => 1e6 * Math.sin(k * k + length))
      const { median, q1, q3, samples } = spreadOf(values)
      expect(samples).toBe(length)
      const places = [Math.min(...values), q1, median, q3, Math.max(...values)]
      expect(places).toEqual(places.toSorted((a, b) => a - b))
    }
  })

  // numpy.quantile([1, 2], [0.25, 0.5, 0.75]) == [1.25, 1.5, 1.75]
  it('interpolates between two values', () => {
    expect(spreadOf([2, 1])).toEqual({ median: 1.5, q1: 1.25, q3: 1.75, samples: 2 })
  })

  it('take the middle values of five', () => {
    expect(spreadOf([5, 3, 1, 2, 4])).toMatchObject({ median: 3, q1: 2, q3: 4 })
  })

  it('have the mean of ratios and of their inverses as inverses of each other', () => {
    const ratios = [0.2, 3, 1.7, 0.9]
    expect(geometricMean(ratios) * geometricMean(ratios.map((ratio) => 1 / ratio))).toBeCloseTo(1, 12)
  })

  it('have no mean of nothing, and 0 where a ratio is 0', () => {
    expect(geometricMean([])).toBeNaN()
    expect(geometricMean([0, 5])).toBe(0)
  })

  it('do not overflow where the product of the values would', () => {
    expect(geometricMean([1e300, 1e300, 1e300]) / 1e300).toBeCloseTo(1, 9)
  })
})
