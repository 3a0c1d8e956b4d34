import { createRnnDescriptor, paramRegions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { onednnOperands } from '../src/onednn_runner.js'
import { grouped, parameterLayout } from '../src/parameter_layouts.js'

/** Weights whose elements are 100 · matrix + 10 · unit + column, biases 1000 · (bias + 1) + unit. */
function task(cellMode: 'lstm' | 'gru') {
  const workload = {
    cellMode,
    numLayers: 1,
    bidirectional: false,
    batch: 1,
    time: 1,
    inputSize: 3,
    numUnits: 2,
  } as const
  const descriptor = createRnnDescriptor({ cellMode, numLayers: 1, numUnits: 2, inputSize: 3 })
  const regions = paramRegions(descriptor)
  const canonical = {
    weights: regions.weights.map(({ shape }, index) => {
      const [units, columns] = shape as [number, number]
      const data = Float32Array.from(
        { length: units * columns },
        (_, k) => 100 * index + 10 * Math.floor(k / columns) + (k % columns),
      )
      return { data, shape }
    }),
    biases: regions.biases.map(({ shape }, index) => ({
      data: Float32Array.from({ length: 2 }, (_, unit) => 1000 * (index + 1) + unit),
      shape,
    })),
  }
  const parameters = grouped(parameterLayout('canonical').fromCanonical(descriptor, canonical))
  const input = new Float32Array(3)
  return { workload, pass: 'inference', parameters, input, outputGradient: input } as const
}

describe('onednnOperands', () => {
  it('interleaves the gates i f c o of LSTM and adds both biases', () => {
    const { inputWeights, recurrentWeights, bias } = onednnOperands(task('lstm'))
    expect(inputWeights.shape).toEqual([3, 4, 2])
    // Column 0: gates 0 to 3, units 0 and 1 each.
    expect([...inputWeights.data.subarray(0, 8)]).toEqual([0, 10, 100, 110, 200, 210, 300, 310])
    expect([...recurrentWeights.data.subarray(0, 2)]).toEqual([400, 410])
    expect([...bias.data.subarray(0, 2)]).toEqual([6000, 6002])
  })

  it('puts the update gate of GRU first and keeps the biases of the new memory apart', () => {
    const { inputWeights, bias } = onednnOperands(task('gru'))
    expect([...inputWeights.data.subarray(0, 6)]).toEqual([100, 110, 0, 10, 200, 210])
    // u: b1 + b4, r: b0 + b3, n: b2, and the recurrent bias of n: b5.
    expect([...bias.data].filter((_, k) => k % 2 === 0)).toEqual([7000, 5000, 3000, 6000])
  })
})
