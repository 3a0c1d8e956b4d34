import { describe, expect, it } from 'vitest'
import { HostStates } from '../../../src/executor/host/host_states.js'

/** [L = 2, B = 3, H = 2]: layer, row and unit in the digits. */
const given = () => ({ data: Float32Array.of(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121), shape: [2, 3, 2] })

function filled(): HostStates {
  const states = new HostStates('float32', [[2, 3, 2]])
  states.put([given()])
  return states
}

describe('copy', () => {
  it('is zeros at first, of the type of the elements', () => {
    const [{ data }] = new HostStates('float64', [[1, 1, 2]]).copy()
    expect(data).toEqual(Float64Array.of(0, 0))
  })

  it('copies the rows of every layer in the order of their numbers', () => {
    const states = filled()
    const [{ data, shape }] = states.copy(Int32Array.of(2, 0))
    expect(shape).toEqual([2, 2, 2])
    expect([...data]).toEqual([20, 21, 0, 1, 120, 121, 100, 101])
    data.fill(9)
    expect(states.copy()).toEqual([given()])
  })
})

describe('put', () => {
  it('undoes copy, and leaves other rows', () => {
    const [states, rows] = [filled(), Int32Array.of(2, 0)]
    const taken = states.copy(rows)
    states.put([{ data: new Float32Array(12).fill(-1), shape: [2, 3, 2] }])
    states.put(taken, rows)
    expect([...states.copy()[0].data]).toEqual([0, 1, -1, -1, 20, 21, 100, 101, -1, -1, 120, 121])
  })
})

describe('reset', () => {
  it('zeroes the rows that are named, also twice, or all', () => {
    const states = filled()
    states.reset([1, 1, 1, 1])
    expect([...states.copy()[0].data]).toEqual([0, 1, 0, 0, 20, 21, 100, 101, 0, 0, 120, 121])
    states.reset()
    expect([...states.copy()[0].data]).toEqual(new Array(12).fill(0))
  })
})
