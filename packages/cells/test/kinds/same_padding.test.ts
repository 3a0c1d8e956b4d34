import { describe, expect, it } from 'vitest'
import { samePaddingSources } from '../../src/kinds/same_padding.js'

const rowsOf = (sources: Int32Array, taps: number) =>
  Array.from({ length: sources.length / taps }, (_, row) => [...sources.subarray(row * taps, (row + 1) * taps)])

describe('samePaddingSources', () => {
  it.each<[string, number[], number[], number[][]]>([
    [
      'an odd kernel pads both sides equally',
      [3],
      [3],
      [
        [-1, 0, 1],
        [0, 1, 2],
        [1, 2, -1],
      ],
    ],
    [
      'an even kernel pads the end more',
      [3],
      [2],
      [
        [0, 1],
        [1, 2],
        [2, -1],
      ],
    ],
    ['a kernel of 1 reads in place', [2], [1], [[0], [1]]],
    [
      'a kernel wider than the input reads all of it',
      [2],
      [5],
      [
        [-1, -1, 0, 1, -1],
        [-1, 0, 1, -1, -1],
      ],
    ],
  ])('%s', (_, spatial, kernel, expected) => {
    expect(rowsOf(samePaddingSources(spatial, kernel), kernel[0])).toEqual(expected)
  })

  it('reads a neighborhood of two axes in row-major order', () => {
    const rows = rowsOf(samePaddingSources([2, 3], [2, 3]), 6)
    expect(rows[0]).toEqual([-1, 0, 1, -1, 3, 4])
    expect(rows[4]).toEqual([3, 4, 5, -1, -1, -1])
  })

  // A kernel of ones over ones counts the positions inside; TensorFlow's conv3d with SAME padding gives the same.
  it('has as many positions inside as the axes together', () => {
    const [spatial, kernel] = [
      [3, 2, 4],
      [3, 3, 2],
    ]
    const inside = (axis: number, at: number) => {
      const begin = at - Math.floor((kernel[axis] - 1) / 2)
      return Array.from({ length: kernel[axis] }, (_, tap) => begin + tap).filter((p) => p >= 0 && p < spatial[axis])
        .length
    }
    for (const [position, row] of rowsOf(samePaddingSources(spatial, kernel), 18).entries()) {
      const places = [Math.floor(position / 8), Math.floor(position / 4) % 2, position % 4]
      const expected = places.reduce((product, at, axis) => product * inside(axis, at), 1)
      expect(row.filter((source) => source >= 0)).toHaveLength(expected)
      expect(new Set(row.filter((source) => source >= 0)).size).toBe(expected)
    }
  })
})
