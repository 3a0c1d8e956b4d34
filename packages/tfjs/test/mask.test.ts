import { describe, expect, test } from 'vitest'
import { activeSteps, stepMask } from '../src/mask.js'

/** [B,T] of 2 rows and 3 steps. */
const MASK = [1, 0, 1, 0, 0, 1]

describe('stepMask', () => {
  test('is time-major, and begins with the last step where the order is reversed', () => {
    expect([...stepMask(MASK, 3, 2, false)]).toEqual([1, 0, 0, 0, 1, 1])
    expect([...stepMask(MASK, 3, 2, true)]).toEqual([1, 1, 0, 0, 1, 0])
  })

  test('counts every value but zero as a step that is computed', () => {
    expect([...stepMask([0.5, -1, 256, Number.NaN, -0, 0], 6, 1, false)]).toEqual([1, 1, 1, 1, 0, 0])
  })
})

describe('activeSteps', () => {
  test('counts the steps of each row up to each step, and in all', () => {
    const { counts, lengths } = activeSteps(Uint8Array.of(1, 0, 0, 0, 1, 1), 2)
    expect([...counts]).toEqual([1, 0, 1, 0, 2, 1])
    expect([...lengths]).toEqual([2, 1])
  })

  test('of rows without any are zeros', () => {
    const { counts, lengths } = activeSteps(new Uint8Array(4), 2)
    expect([...counts]).toEqual([0, 0, 0, 0])
    expect([...lengths]).toEqual([0, 0])
  })
})
