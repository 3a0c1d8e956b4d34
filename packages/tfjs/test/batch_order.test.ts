import { describe, expect, test } from 'vitest'
import { batchMajor, timeMajor } from '../src/batch_order.js'

/** [B,T,N] of 2 rows, 3 steps and 2 columns: the element of row b, step t and column n is 100·b + 10·t + n. */
const GIVEN = Float32Array.of(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121)
const SIZES = { time: 3, batch: 2, columns: 2, reversed: false } as const
const REVERSED = { ...SIZES, reversed: true } as const

describe('timeMajor', () => {
  test('has the rows of a step side by side', () => {
    expect([...timeMajor(GIVEN, SIZES)]).toEqual([0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121])
  })

  test('begins with the last step where the order is reversed', () => {
    expect([...timeMajor(GIVEN, REVERSED)]).toEqual([20, 21, 120, 121, 10, 11, 110, 111, 0, 1, 100, 101])
  })

  test('adds a column of ones behind, which makes the bias a row of the kernel', () => {
    expect([...timeMajor(GIVEN, SIZES, true)]).toEqual([
      ...[0, 1, 1, 100, 101, 1],
      ...[10, 11, 1, 110, 111, 1],
      ...[20, 21, 1, 120, 121, 1],
    ])
    const none = { time: 2, batch: 1, columns: 0, reversed: false }
    expect([...timeMajor(new Float32Array(0), none, true)]).toEqual([1, 1])
  })

  test('leaves its argument as it is', () => {
    const given = GIVEN.slice()
    timeMajor(given, REVERSED, true)
    expect(given).toEqual(GIVEN)
  })
})

describe('batchMajor', () => {
  test.each([SIZES, REVERSED])('is the inverse of timeMajor: %o', (sizes) => {
    expect(batchMajor(timeMajor(GIVEN, sizes), sizes)).toEqual(GIVEN)
    expect(timeMajor(batchMajor(GIVEN, sizes), sizes)).toEqual(GIVEN)
  })

  test('of one row or one step changes no order', () => {
    expect(batchMajor(GIVEN, { time: 1, batch: 6, columns: 2, reversed: true })).toEqual(GIVEN)
    expect(batchMajor(GIVEN, { time: 6, batch: 1, columns: 2, reversed: false })).toEqual(GIVEN)
  })
})
