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

  it('keeps the pre-activations of relu away from 0', () => {
    const [time, batch, units] = [20, 4, 64]
    const relu = { ...WORKLOAD, cellMode: 'rnn_relu', numLayers: 1, bidirectional: false } as const
    const { canonical, input } = makeOperands({ ...relu, batch, time, inputSize: units, numUnits: units }, 1)
    const [w, r] = canonical.weights
    const [bw, br] = canonical.biases
    const active = new Set<number>()
    let nearest = Number.POSITIVE_INFINITY
    for (let row = 0; row < batch; row++) {
      let h = new Float64Array(units)
      for (let t = 0; t < time; t++) {
        const x = input.data.subarray((t * batch + row) * units, (t * batch + row + 1) * units)
        h = h.map((_, unit) => {
          let z = bw.data[unit] + br.data[unit]
          for (let k = 0; k < units; k++) z += w.data[unit * units + k] * x[k] + r.data[unit * units + k] * h[k]
          nearest = Math.min(nearest, Math.abs(z))
          if (z > 0) active.add(unit)
          return Math.max(0, z)
        })
      }
    }
    expect(nearest).toBeGreaterThan(0.3)
    expect(active.size).toBe(units / 2)
  })

  it('gives every implementation the same numbers', () => {
    expect(makeOperands(WORKLOAD, 1)).toEqual(makeOperands(WORKLOAD, 1))
    expect(makeOperands(WORKLOAD, 2).input).not.toEqual(makeOperands(WORKLOAD, 1).input)
  })
})
