import { describe, expect, it } from 'vitest'
import { logAddExp, logSoftmaxInto, sigmoid } from '../../../src/executor/index.js'

const NOTHING = Number.NEGATIVE_INFINITY

describe('logAddExp', () => {
  it.each([
    [0, 0, Math.LN2],
    [Math.log(3), Math.log(4), Math.log(7)],
    [NOTHING, -2, -2],
    [-2, NOTHING, -2],
    [NOTHING, NOTHING, NOTHING],
    // e^1000 overflows.
    [1000, 1000, 1000 + Math.LN2],
    [-2000, -2000, -2000 + Math.LN2],
    // The smaller one is below half a unit in the last place.
    [0, -800, 0],
  ])('of %d and %d is %d', (a, b, expected) => {
    expect(logAddExp(a, b)).toBeCloseTo(expected, 12)
    expect(logAddExp(b, a)).toBe(logAddExp(a, b))
  })

  it('keeps the digits of a small share', () => {
    expect(logAddExp(0, -40)).toBe(Math.exp(-40))
  })
})

describe('logSoftmaxInto', () => {
  const logSoftmax = (logits: number[], at = 0, count = logits.length) => {
    const out = new Float64Array(count)
    logSoftmaxInto(out, Float64Array.from(logits), at)
    return out
  }

  it('is normalized, and differences stay', () => {
    const out = logSoftmax([1, 2, 0.5])
    expect(out.reduce((sum, value) => sum + Math.exp(value), 0)).toBeCloseTo(1, 14)
    expect([out[1] - out[0], out[1] - out[2]]).toEqual([expect.closeTo(1, 14), expect.closeTo(1.5, 14)])
  })

  it('reads as many logits as it writes, from their place on', () => {
    expect([...logSoftmax([9, 0, 0, 9], 1, 2)]).toEqual([expect.closeTo(-Math.LN2, 14), expect.closeTo(-Math.LN2, 14)])
  })

  it('does not overflow, and keeps digits beside a large maximum', () => {
    expect([...logSoftmax([1e4, 1e4])]).toEqual([expect.closeTo(-Math.LN2, 15), expect.closeTo(-Math.LN2, 15)])
    // ln 2 has no place in a double beside 2^60.
    expect(logSoftmax([2 ** 60, 2 ** 60])[0]).toBe(-Math.LN2)
  })

  it('gives a logit of -∞ no share', () => {
    expect([...logSoftmax([NOTHING, 3])]).toEqual([NOTHING, 0])
  })
})

describe('sigmoid', () => {
  it.each([
    [0, 0.5],
    [-1000, 0],
    [1000, 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Math.log(3), 0.75],
  ])('of %d is %d', (x, expected) => {
    expect(sigmoid(x)).toBeCloseTo(expected, 15)
    expect(sigmoid(x) + sigmoid(-x)).toBeCloseTo(1, 15)
  })
})
