import { describe, expect, it } from 'vitest'
import { upperMedian } from '../../src/tasks/upper_median.js'

describe('upperMedian', () => {
  it.each([
    [[3], 3],
    [[10, 9, 2], 9],
    [[4, 1, 3, 2], 3],
    [[], undefined],
  ])('of %o is %o, a value that occurs', (values, expected) => {
    expect(upperMedian(values)).toBe(expected)
  })

  it('leaves the values in their order', () => {
    const values = Object.freeze([2, 1])
    expect(upperMedian(values)).toBe(2)
    expect(values).toEqual([2, 1])
  })
})
