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
