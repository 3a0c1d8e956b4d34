import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { fillMissing } from '../../src/tasks/missing_values.js'

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

describe('fillMissing of any series', () => {
  it.each([1, 3, 12])('keeps known values and leaves no gap, with a season of %d', (season) => {
    for (let pattern = 0; pattern < 40; pattern++) {
      const values = Array.from({ length: 30 }, (_, k) => ((k * k + pattern) % 7 < 3 ? gap : Math.sin(k)))
      const filled = fillMissing(values, season)
      for (const [index, value] of values.entries()) {
        if (Number.isNaN(value)) expect(filled[index]).not.toBeNaN()
        else expect(filled[index]).toBe(value)
      }
    }
  })

  it('moves with the level: a series and the same one higher have the same gaps filled', () => {
    const values = Array.from({ length: 24 }, (_, k) => (k % 5 === 3 ? gap : 10 * Math.sin(k)))
    const higher = fillMissing(
      values.map((value) => value + 100),
      4,
    )
    for (const [index, value] of fillMissing(values, 4).entries()) expect(higher[index]).toBeCloseTo(value + 100, 9)
  })

  it('refuses other values than numbers, and seasons below one step', () => {
    expect(() => fillMissing(['1'] as never, 1)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => fillMissing([1], 0)).toThrow(coded('ERR_INVALID_OPTION'))
  })
})
