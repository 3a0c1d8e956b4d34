import { describe, expect, it } from 'vitest'
import { GATE_ORDERS, gatePosition, gatesOf } from '../../src/index.js'

describe('GATE_ORDERS', () => {
  it('holds every gate of every cell exactly once', () => {
    for (const orders of Object.values(GATE_ORDERS)) {
      for (const mode of ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const) {
        expect([...orders[mode]].sort()).toEqual([...gatesOf(mode)].sort())
      }
    }
  })
})

describe('gatePosition', () => {
  it('places the forget gate where each framework documents it: icfo, ifgo, ifco, iofc', () => {
    const positions = (['tensorflow', 'pytorch', 'keras', 'onnx', 'cudnn'] as const).map((framework) =>
      gatePosition(framework, 'lstm', 'forget'),
    )
    expect(positions).toEqual([2, 1, 1, 2, 1])
  })

  it('is -1 for a gate that the cell does not have', () => {
    expect(gatePosition('pytorch', 'gru', 'forget')).toBe(-1)
  })
})
