import { describe, expect, it } from 'vitest'
import { fillMissing } from '../src/missing_values.js'

const { NaN: gap } = Number

describe('fillMissing', () => {
  it('interpolates without a season', () => {
    expect([...fillMissing([1, gap, gap, 4, gap], 1)]).toEqual([1, 2, 3, 4, 4])
    expect([...fillMissing([gap, gap, 4], 1)]).toEqual([4, 4, 4])
  })

  it('repeats the season before a gap at the level after it', () => {
    expect([...fillMissing([0, 10, 0, 10, 0, gap, gap, gap, 6, 16], 2)]).toEqual([
      0, 10, 0, 10, 0, 11.5, 3, 14.5, 6, 16,
    ])
  })

  it('fills a gap that is longer than a season, and the beginning with the season after it', () => {
    const filled = fillMissing([gap, 1, 5, 1, 5, gap, gap, gap, gap, gap, 5], 2)
    expect([...filled].every(Number.isFinite)).toBe(true)
    expect([...filled]).toEqual([5, 1, 5, 1, 5, 1, 5, 1, 5, 1, 5])
  })

  it('leaves whole series as they are, and has nothing for one without values', () => {
    expect([...fillMissing([3, 1, 2], 2)]).toEqual([3, 1, 2])
    expect([...fillMissing([gap], 2)]).toEqual([gap])
  })
})
