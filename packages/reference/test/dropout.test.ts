import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { drawDropoutScales, scaled } from '../src/dropout.js'

describe('drawDropoutScales', () => {
  it('draws one uniform number for each element, at any rate', () => {
    for (const rate of [0, 0.3, 1]) {
      const random = new Philox(4)
      drawDropoutScales(new Float32Array(7), rate, random)
      expect(random.position).toBe(7)
    }
  })

  it.each([
    [0, new Set([1])],
    [0.75, new Set([0, 4])],
    [1, new Set([0])],
  ])('has the scales of rate %d', (rate, expected) => {
    expect(new Set(drawDropoutScales(new Float32Array(500), rate, new Philox(4)))).toEqual(expected)
  })

  it('keeps the mean', () => {
    const scales = drawDropoutScales(new Float64Array(40_000), 0.3, new Philox(4))
    const mean = Array.from(scales).reduce((sum, scale) => sum + scale, 0) / scales.length
    // The standard deviation of the mean is 0.0033.
    expect(Math.abs(mean - 1)).toBeLessThan(0.02)
  })
})

describe('scaled', () => {
  it('is a new array of the type of the values', () => {
    const values = Float32Array.of(1, 2, 3)
    expect(scaled(values, Float64Array.of(2, 0, -1))).toEqual(Float32Array.of(2, 0, -3))
    expect([...values]).toEqual([1, 2, 3])
  })
})
