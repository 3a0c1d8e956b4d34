import { describe, expect, it } from 'vitest'
import { withoutPadding } from '../src/padding.js'

const sizes = (sequenceLengths: number[] | null) => ({
  ...{ time: 3, batch: 2 },
  sequenceLengths: sequenceLengths && Int32Array.from(sequenceLengths),
})

describe('withoutPadding', () => {
  it('zeroes the steps past the length of a row', () => {
    const sequence = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, Number.NaN, Number.POSITIVE_INFINITY, 11, 12)
    expect(withoutPadding(sequence, sizes([2, 3]))).toBe(sequence)
    expect([...sequence]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 11, 12])
    expect([...withoutPadding(sequence, sizes([0, 1]))]).toEqual([0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0])
  })

  it('leaves whole rows as they are', () => {
    const sequence = new Float32Array(6).fill(1)
    expect([...withoutPadding(sequence, sizes(null))]).toEqual([1, 1, 1, 1, 1, 1])
  })
})
