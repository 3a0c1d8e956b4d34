import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkedStreamState, tensorsOfState } from '../../../src/executor/index.js'

const tensor = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)).fill(1), shape })
const sizes = { numLayers: 1, numUnits: 2, inputSize: 3 }
const lstm = createRnnDescriptor({ ...sizes, cellMode: 'lstm' })

describe('tensorsOfState', () => {
  it('reads each tensor once', () => {
    let reads = 0
    const state = {
      c: undefined,
      get h() {
        reads++
        return tensor(1, 1, 2)
      },
    }
    expect(tensorsOfState(state)).toEqual({ h: tensor(1, 1, 2), c: undefined })
    expect(reads).toBe(1)
  })

  it('refuses a value that cannot be read', () => {
    const cause = new Error('a getter')
    const fails = () => {
      throw cause
    }
    expect(() => tensorsOfState(Object.defineProperty({}, 'h', { get: fails }))).toThrow(
      coded('ERR_NOT_A_STATE', { cause }),
    )
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const wrong of [proxy, null, 3, [], 'h']) expect(() => tensorsOfState(wrong)).toThrow(coded('ERR_NOT_A_STATE'))
  })
})

describe('checkedStreamState', () => {
  it('copies the tensors of the rows', () => {
    const state = { h: tensor(1, 3, 2), c: tensor(1, 3, 2) }
    const copy = checkedStreamState(lstm, 'float32', state, 3)
    state.h.data.fill(2)
    expect(copy).toEqual({ h: tensor(1, 3, 2), c: tensor(1, 3, 2) })
  })

  it('refuses other shapes and types, and a cell state of a GRU', () => {
    const state = { h: tensor(1, 3, 2), c: tensor(1, 3, 2) }
    expect(() => checkedStreamState(lstm, 'float32', state, 2)).toThrow(coded('ERR_SHAPE'))
    expect(() => checkedStreamState(lstm, 'float64', state, 3)).toThrow(coded('ERR_DTYPE'))
    const gru = createRnnDescriptor({ ...sizes, cellMode: 'gru' })
    expect(() => checkedStreamState(gru, 'float32', state, 3)).toThrow(coded('ERR_NO_CELL_STATE'))
  })
})
