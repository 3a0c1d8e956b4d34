import { describe, expect, it } from 'vitest'
import { learningRateAt } from '../src/learning_rate.js'

const plan = { steps: 1000, learningRate: 2 }

describe('learningRateAt', () => {
  it('rises linearly over the first 20 steps', () => {
    expect(learningRateAt(0, plan)).toBeCloseTo(2 / 20, 6)
    expect(learningRateAt(9, plan)).toBeCloseTo(1, 3)
  })

  it('falls along a cosine, half-way at the middle, to a tenth at the end', () => {
    expect(learningRateAt(500, plan)).toBeCloseTo(2 * 0.55, 12)
    expect(learningRateAt(999, plan)).toBeCloseTo(0.2, 4)
  })
})
