import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { axisLines, withoutAxis } from '../../src/losses/axis_lines.js'

/** The places of the elements of each line. */
function placesOf(shape: readonly number[], axis?: number): number[][] {
  const { count, lineOf } = axisLines('sum', shape, axis)
  const places = Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, place) => place)
  return Array.from({ length: count }, (_, line) => places.filter((place) => lineOf(place) === line))
}

describe('axisLines', () => {
  it.each<[string, readonly number[], number | undefined, number[][]]>([
    [
      'the last axis by default',
      [2, 3],
      undefined,
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ],
    [
      'the first axis',
      [2, 3],
      0,
      [
        [0, 3],
        [1, 4],
        [2, 5],
      ],
    ],
    [
      'the axis between others',
      [2, 2, 2],
      1,
      [
        [0, 2],
        [1, 3],
        [4, 6],
        [5, 7],
      ],
    ],
    [
      'an axis counted from the end',
      [2, 2, 2],
      -3,
      [
        [0, 4],
        [1, 5],
        [2, 6],
        [3, 7],
      ],
    ],
    ['the one axis of a vector', [3], 0, [[0, 1, 2]]],
    ['an axis of one element', [2, 1], 1, [[0], [1]]],
    ['no lines beside an empty axis', [0, 2], 1, []],
  ])('are those along %s', (_, shape, axis, expected) => {
    expect(placesOf(shape, axis)).toEqual(expected)
  })

  it('pass each element once, along any axis', () => {
    for (const axis of [0, 1, 2, 3, -1, -4]) {
      const places = placesOf([3, 2, 4, 5], axis).flat()
      expect(places.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, k) => k))
    }
  })

  it.each([
    [[2, 3], 2],
    [[2, 3], -3],
    [[2, 3], 0.5],
    [[2, 3], Number.NaN],
    [[], 0],
    [[], -1],
  ])('refuse in the shape %j the axis %d', (shape, axis) => {
    expect(() => axisLines('sum', shape, axis)).toThrow(
      coded('ERR_AXIS', { name: 'RangeError', axis, rank: shape.length }),
    )
  })

  it('refuse an axis without elements, over which nothing is defined', () => {
    expect(() => axisLines('sum', [2, 0], -1)).toThrow(coded('ERR_SHAPE', { actual: [2, 0] }))
  })
})

describe('withoutAxis', () => {
  it.each([
    [undefined, [2, 3]],
    [0, [3, 4]],
    [1, [2, 4]],
    [-2, [2, 4]],
  ])('leaves the axis %s out of [2,3,4]', (axis, expected) => {
    expect(withoutAxis([2, 3, 4], axis)).toEqual(expected)
  })
})
