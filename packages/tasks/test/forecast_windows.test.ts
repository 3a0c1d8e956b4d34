import { expect, it } from 'vitest'
import { seasonalNaive, splitOrigins } from '../src/forecast_windows.js'

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
  expect(() => splitOrigins(32, shape)).toThrow(
    expect.objectContaining({ code: 'ERR_SERIES_TOO_SHORT', length: 32, needed: 33 }),
  )
  expect(splitOrigins(33, shape).train).toEqual([9])
})

it('seasonalNaive takes the last season that is known, however far ahead', () => {
  const values = Float64Array.from({ length: 12 }, (_, k) => k)
  expect([1, 4, 5, 9].map((ahead) => seasonalNaive(values, 7, ahead, 4))).toEqual([4, 7, 4, 4])
  expect([1, 5].map((ahead) => seasonalNaive(values, 7, ahead, 1))).toEqual([7, 7])
})
