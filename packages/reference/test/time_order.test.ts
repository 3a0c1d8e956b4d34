import { describe, expect, it } from 'vitest'
import { timeOrder } from '../src/time_order.js'

/** The time indices that each row walks. */
const walks = (direction: number, time: number, lengths: number[] | null, batch = lengths?.length ?? 2) => {
  const order = timeOrder(direction, time, lengths && Int32Array.from(lengths))
  return Array.from({ length: batch }, (_, b) => {
    const steps = Array.from({ length: order.steps }, (_, step) => step).filter((step) => order.isActive(step, b))
    return steps.map((step) => order.timeOf(step, b))
  })
}

describe('timeOrder', () => {
  it.each([
    [
      'forward over whole rows',
      0,
      null,
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
    ],
    [
      'backward over whole rows',
      1,
      null,
      [
        [2, 1, 0],
        [2, 1, 0],
      ],
    ],
    ['forward up to each length', 0, [1, 3], [[0], [0, 1, 2]]],
    ['backward from the last valid step of each row', 1, [1, 3], [[0], [2, 1, 0]]],
    ['over rows of no steps', 1, [0, 2], [[], [1, 0]]],
    ['over nothing', 0, [0, 0], [[], []]],
  ])('walks %s', (_, direction, lengths, expected) => {
    expect(walks(direction, 3, lengths)).toEqual(expected)
  })

  it('makes as many steps as the longest row has, and is full up to the shortest', () => {
    const { steps, isFull } = timeOrder(0, 5, Int32Array.of(2, 4, 3))
    expect(steps).toBe(4)
    expect([0, 1, 2, 3].map(isFull)).toEqual([true, true, false, false])
    expect(timeOrder(0, 5, null).isFull(4)).toBe(true)
  })
})
