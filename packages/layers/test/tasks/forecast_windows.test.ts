import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { firstOrigin, seasonalNaive, splitOrigins, usualShape } from '../../src/tasks/forecast_windows.js'

const shape = { window: 6, horizon: 3, season: 4, heldOut: 10 }

it('splitOrigins keeps targets inside their part, and the held-out part out of the others', () => {
  const { train, calibration, test } = splitOrigins(60, shape)
  // The first window needs 6 values and one season before them.
  expect(train[0]).toBe(9)
  expect(train.at(-1)! + shape.horizon).toBe(39)
  expect([calibration[0] + 1, calibration.at(-1)! + shape.horizon]).toEqual([40, 49])
  expect([test[0] + 1, test.at(-1)! + shape.horizon]).toEqual([50, 59])
})

it('splitOrigins refuses a series that leaves a part empty, and states how long it must be', () => {
  expect(() => splitOrigins(32, shape)).toThrow(coded('ERR_SERIES_TOO_SHORT', { length: 32, needed: 33 }))
  expect(splitOrigins(33, shape).train).toEqual([9])
})

it('seasonalNaive takes the last season that is known, however far ahead', () => {
  const values = Float64Array.from({ length: 12 }, (_, k) => k)
  expect([1, 4, 5, 9].map((ahead) => seasonalNaive(values, 7, ahead, 4))).toEqual([4, 7, 4, 4])
  expect([1, 5].map((ahead) => seasonalNaive(values, 7, ahead, 1))).toEqual([7, 7])
})

describe('usualShape', () => {
  it('reads three seasons of months, and forecasts and holds out whole ones', () => {
    expect(usualShape(600, 12)).toEqual({ window: 36, horizon: 12, season: 12, heldOut: 72 })
  })

  it('forecasts whole seasons of at least 12 steps', () => {
    expect([1, 4, 5, 7, 24].map((season) => usualShape(2000, season).horizon)).toEqual([12, 12, 15, 14, 24])
  })

  it('reads at least 24 steps where the season is short', () => {
    expect([1, 4, 7].map((season) => usualShape(2000, season).window)).toEqual([24, 24, 28])
  })

  it('keeps the sizes that are given', () => {
    const given = { window: 5, horizon: 3, heldOut: 9 }
    expect(usualShape(100, 4, given)).toEqual({ ...given, season: 4 })
  })

  it.each([1, 4, 7, 12, 52])('leaves a window to learn from in ten seasons of %d, and more', (season) => {
    for (const length of [10 * season + 60, 20 * season + 60, 1000 + season]) {
      const origins = splitOrigins(length, usualShape(length, season))
      expect(origins.train.length).toBeGreaterThan(0)
    }
  })

  it('refuses sizes of another kind', () => {
    expect(() => usualShape(0, 1)).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => usualShape(100, 1.5)).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => usualShape(100, 1, { window: 1 })).toThrow()
    expect(() => usualShape('100' as never, 1)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})

it('firstOrigin has a whole window and a season before it', () => {
  expect(firstOrigin({ window: 6, season: 1 })).toBe(6)
  expect(firstOrigin({ window: 6, season: 12 })).toBe(17)
})

it('splitOrigins names the series that is too short', () => {
  expect(() => splitOrigins(5, shape, { name: 'north', values: [] })).toThrow(/series north must have 33 values/)
})
