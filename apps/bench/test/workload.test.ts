import { describe, expect, it } from 'vitest'
import { type Workload, workloadFlops } from '../src/workload.js'

const lstm: Workload = {
  cellMode: 'lstm',
  numLayers: 1,
  bidirectional: false,
  batch: 16,
  time: 70,
  inputSize: 512,
  numUnits: 512,
}

describe('workloadFlops', () => {
  it('counts 2·T·B·G·H·(I+H) for a layer, and three times that in training', () => {
    expect(workloadFlops(lstm, 'inference')).toBe(2 * 70 * 16 * 4 * 512 * 1024)
    expect(workloadFlops(lstm, 'training')).toBe(3 * 2 * 70 * 16 * 4 * 512 * 1024)
    expect(workloadFlops({ ...lstm, cellMode: 'gru', inputSize: 100 }, 'inference')).toBe(2 * 70 * 16 * 3 * 512 * 612)
  })

  it('feeds both directions of a layer to the next', () => {
    const stack = { ...lstm, cellMode: 'rnn_tanh', numLayers: 2, bidirectional: true } as const
    expect(workloadFlops(stack, 'inference')).toBe(2 * 70 * 16 * 512 * 2 * (512 + 512 + 1024 + 512))
  })
})
