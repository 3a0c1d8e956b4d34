import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../src/data/fingerprint.js'

const example = (label: number) => ({ input: { data: Float32Array.of(1, 2), shape: [2] }, label, text: 'a' })

describe('fingerprintOf', () => {
  it('is the same for equal values', () => {
    expect(fingerprintOf([example(1), example(2)])).toBe(fingerprintOf([example(1), example(2)]))
    expect(fingerprintOf([])).toMatch(/^[\da-f]{8}$/)
  })

  it.each([
    ['a number', [1.5], [1.25]],
    ['a nested number', [example(1)], [example(2)]],
    ['a text', ['ab'], ['ac']],
    ['an element of a typed array', Int32Array.of(1, 2), Int32Array.of(1, 3)],
    ['the order', [1, 2], [2, 1]],
    ['the length', [0], [0, 0]],
    ['a bigint', [1n], [2n]],
  ])('differs by %s', (_, one, other) => {
    expect(fingerprintOf(one)).not.toBe(fingerprintOf(other))
  })

  it('differs between all arrays of 13 labels 0 and 1', () => {
    const labels = (row: number) => Array.from({ length: 13 }, (_, bit) => (row >> bit) & 1)
    const fingerprints = new Set(Array.from({ length: 2 ** 13 }, (_, row) => fingerprintOf(labels(row))))
    expect(fingerprints.size).toBe(2 ** 13)
  })

  it('reads a sample of large arrays, and ends in cycles', () => {
    const ids = Int32Array.from({ length: 100_000 }, (_, k) => k)
    expect(fingerprintOf(ids)).not.toBe(fingerprintOf(ids.map((id) => id + 1)))
    const cycle: unknown[] = [1]
    cycle.push(cycle)
    expect(fingerprintOf(cycle)).toMatch(/^[\da-f]{8}$/)
  })
})
