import { describe, expect, it } from 'vitest'
import { copyRows } from '../../src/loop/batch_rows.js'

const count = (length: number) => Float32Array.from({ length }, (_, k) => k + 1)

describe('copyRows', () => {
  it.each([
    // A whole of shape [2,3,2] has the rows of axis 1: the part's rows are 1 and 2.
    ['in the middle', [2, 2, 2], 1, 1, 3, [3, 4, 5, 6, 9, 10, 11, 12]],
    ['on the first axis', [1, 3], 0, 2, 4, [7, 8, 9]],
    ['on the last axis', [2, 1], 1, 0, 3, [1, 4]],
  ] as const)('takes the rows of a share %s out of the whole', (_, shape, axis, from, total, expected) => {
    const part = new Float32Array(shape.reduce((all: number, each) => all * each, 1))
    const whole = count((part.length / shape[axis]) * total)
    copyRows('into part', whole, part, { shape, axis, from, total })
    expect([...part]).toEqual(expected)
    expect(whole).toEqual(count(whole.length))
  })

  it('puts the shares of all ranks together, an empty one among them', () => {
    const whole = new Float32Array(2 * 5 * 2)
    const shares = [2, 0, 3]
    let from = 0
    for (const rows of shares) {
      const shape = [2, rows, 2]
      const part = Float32Array.from({ length: 4 * rows }, (_, k) => 100 * rows + k)
      copyRows('into whole', whole, part, { shape, axis: 1, from, total: 5 })
      from += rows
    }
    expect([...whole]).toEqual([
      ...[200, 201, 202, 203, 300, 301, 302, 303, 304, 305],
      ...[204, 205, 206, 207, 306, 307, 308, 309, 310, 311],
    ])
  })

  it('into the whole leaves the rows of other ranks as they are', () => {
    const whole = count(6)
    copyRows('into whole', whole, Float32Array.of(-1, -2), { shape: [2, 1], axis: 1, from: 1, total: 3 })
    expect([...whole]).toEqual([1, -1, 3, 4, -2, 6])
  })
})
