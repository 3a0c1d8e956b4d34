import { paramRegions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { makeOperands } from '../src/operands.js'
import { type Workload, workloadDescriptor } from '../src/workload.js'

const WORKLOAD: Workload = {
  ...{ cellMode: 'lstm', numLayers: 2, bidirectional: true },
  ...{ batch: 3, time: 5, inputSize: 16, numUnits: 16 },
}
const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)

describe('makeOperands', () => {
  it('has the shapes of the network', () => {
    const { canonical, input, outputGradient } = makeOperands(WORKLOAD, 1)
    expect([input.shape, outputGradient.shape]).toEqual([
      [5, 3, 16],
      [5, 3, 32],
    ])
    const regions = paramRegions(workloadDescriptor(WORKLOAD))
    for (const kind of ['weights', 'biases'] as const) {
      expect(canonical[kind].map(({ shape }) => shape)).toEqual(regions[kind].map(({ shape }) => shape))
    }
    expect(makeOperands({ ...WORKLOAD, bidirectional: false }, 1).outputGradient.shape).toEqual([5, 3, 16])
  })

  it("draws weights in PyTorch's ±1/√H, and sequences in ±1", () => {
    const { canonical, input, outputGradient } = makeOperands(WORKLOAD, 1)
    for (const { data } of canonical.weights) {
      expect(largest(data)).toBeLessThanOrEqual(0.25)
      expect(largest(data)).toBeGreaterThan(0.2)
    }
    for (const { data } of [input, outputGradient]) {
      expect(largest(data)).toBeLessThanOrEqual(1)
      expect(largest(data)).toBeGreaterThan(0.9)
    }
  })

  it('gives every implementation the same numbers', () => {
    expect(makeOperands(WORKLOAD, 1)).toEqual(makeOperands(WORKLOAD, 1))
    expect(makeOperands(WORKLOAD, 2).input).not.toEqual(makeOperands(WORKLOAD, 1).input)
  })
})
