import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import {
  broadcastShape,
  flatWalk,
  partView,
  repeatedView,
  viewOf,
  walkCount,
  walkOf,
} from '../../../src/executor/operations/walk.js'

describe('walkOf', () => {
  it('makes one group of dimensions that every tensor has evenly spaced', () => {
    const shape = [2, 3, 4, 5, 6]
    expect(walkOf('add', shape, [viewOf(shape), viewOf(shape)])).toEqual(flatWalk(720, 2))
  })

  it('ends a group where a tensor repeats or has a gap, and leaves out sizes of 1', () => {
    const shape = [2, 1, 3, 4]
    const views = [viewOf(shape), repeatedView([3, 4], shape), partView([2, 1, 3, 9], [0, 0, 1, 2])]
    expect(walkOf('add', shape, views)).toEqual([
      ...[1, 2, 3, 4],
      ...[0, 0, 12, 4, 1],
      ...[0, 0, 0, 4, 1],
      ...[11, 0, 27, 9, 1],
    ])
  })

  it('of no elements or of one needs no stride', () => {
    expect(walkOf('add', [3, 0, 2], [viewOf([3, 0, 2])])).toEqual(flatWalk(0, 1))
    expect(walkOf('add', [], [viewOf([])])).toEqual([1, 1, 1, 1, 0, 0, 0, 0, 0])
    expect([walkCount(flatWalk(0, 1)), walkCount(flatWalk(7, 3))]).toEqual([0, 7])
  })

  it('refuses a fifth group, naming them', () => {
    const shape = [2, 3, 2, 3, 2]
    const views = [viewOf(shape), repeatedView([2, 1, 2, 1, 2], shape)]
    const message = expect.stringContaining('the dimensions [2,3,2,3,2] must form 4 groups')
    expect(() => walkOf('add', shape, views)).toThrow(coded('ERR_SHAPE', { expected: 4, actual: shape, message }))
  })
})

describe('broadcastShape', () => {
  it.each([
    [[], [2, 3], [2, 3]],
    [
      [2, 1, 4],
      [3, 1],
      [2, 3, 4],
    ],
    [
      [0, 3],
      [1, 3],
      [0, 3],
    ],
    [[1], [0], [0]],
    [[2, 3], [2], undefined],
    [[2], [0], undefined],
  ])('of %j and %j is %j', (a, b, expected) => {
    expect(broadcastShape(a, b)).toEqual(expected)
    expect(broadcastShape(b, a)).toEqual(expected)
  })
})
