import { describe, expect, it } from 'vitest'
import { gatherRows, scatterRows } from '../../src/streams/forward_stepper.js'

/** [L = 2, B = 3, H = 2]: layer, row and unit in the digits. */
const states = () => ({ data: Float32Array.of(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121), shape: [2, 3, 2] })

describe('gatherRows', () => {
  it('copies the rows of every layer in the order of their numbers', () => {
    const given = states()
    const { data, shape } = gatherRows(given, Int32Array.of(2, 0))
    expect(shape).toEqual([2, 2, 2])
    expect([...data]).toEqual([20, 21, 0, 1, 120, 121, 100, 101])
    data.fill(9)
    expect(given).toEqual(states())
  })

  it.each([2, 3, 4, 8])('fills up to %i rows with zeros, also more than there are', (count) => {
    const { data, shape } = gatherRows(states(), Int32Array.of(1, 2), count)
    const zeros = new Array<number>(2 * (count - 2)).fill(0)
    expect(shape).toEqual([2, count, 2])
    expect([...data]).toEqual([10, 11, 20, 21, ...zeros, 110, 111, 120, 121, ...zeros])
  })

  it('keeps the type of the elements', () => {
    const { data } = gatherRows({ data: new Float64Array(2), shape: [1, 1, 2] }, Int32Array.of(0))
    expect(data).toBeInstanceOf(Float64Array)
  })
})

describe('scatterRows', () => {
  it('undoes gatherRows, and leaves other rows', () => {
    const [given, rows] = [states(), Int32Array.of(2, 0)]
    const taken = gatherRows(given, rows, 4)
    given.data.fill(-1)
    scatterRows(given, rows, taken)
    expect([...given.data]).toEqual([0, 1, -1, -1, 20, 21, 100, 101, -1, -1, 120, 121])
  })
})
