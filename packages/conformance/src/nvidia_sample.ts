import { required } from '@cudnn-rnn/canonical/rules'
import type { Backend, FloatDType } from '@cudnn-rnn/ops'
import { type CellMode, createRnnDescriptor, paramRegions, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { filled } from './fills.js'
import { trainingForward } from './training_forward.js'

/** Sums that NVIDIA prints with its cuDNN 8 RNN sample for T 20, L 2, I = H = 512, B 64, float32 (RNN_v8.0). */
const SUMS: readonly (readonly [CellMode, Readonly<Record<string, number>>])[] = [
  ['rnn_relu', { y: 1.315793e6, hy: 1.315212e5, dx: 66.76003, dhx: 64.2505, dw: 1.45375e9 }],
  ['rnn_tanh', { y: 6.319591e5, hy: 6.319605e4, dx: 4.50183, dhx: 4.489543, dw: 5.012598e7 }],
  [
    'lstm',
    { y: 5.749536e5, hy: 5.774818e4, cy: 4.365091e5, dx: 384.2206, dhx: 11.82562, dcx: 9323.785, dw: 4.313461e8 },
  ],
  ['gru', { y: 6.358978e5, hy: 6.28168e4, dx: 6.296622, dhx: 2.28996e5, dw: 5.397419e7 }],
]

export interface NvidiaSampleOptions {
  /** Default float32. */
  readonly dtype?: FloatDType | undefined
  /** Relative; default 1e-3, the sample's own. Executors that compute with fewer bits need more. */
  readonly tolerance?: number | undefined
  /** Default all four. */
  readonly cellModes?: readonly CellMode[] | undefined
}

const SIZES = { time: 20, layers: 2, units: 512, batch: 64 }

/**
 * Registers NVIDIA's sample: inputs, states and incoming gradients 1, every matrix constant 1/(rows·columns), biases 1.
 * About 60 GFLOP for the four modes, so executors' tests choose where to run it.
 */
export function runNvidiaSample(
  name: string,
  open: (options: { readonly dtype: FloatDType }) => Backend | Promise<Backend>,
  { dtype = 'float32', tolerance = 1e-3, cellModes }: NvidiaSampleOptions = {},
): void {
  const sums = SUMS.filter(([cellMode]) => cellModes?.includes(cellMode) ?? true)
  describe(`${name} reproduces the sums of NVIDIA's RNN sample`, () => {
    test.each(sums)('%s', { timeout: 300_000 }, async (cellMode, expected) => {
      using backend = await open({ dtype })
      const { time, layers, units, batch } = SIZES
      const descriptor = createRnnDescriptor({
        cellMode,
        numLayers: layers,
        numUnits: units,
        inputSize: units,
        inputMode: 'linear_input',
      })
      const rnn = backend.rnn(descriptor)
      const constant = (value: number, shape: readonly number[]): Tensor<Float32Array | Float64Array> => ({
        data: filled('x', shape, dtype).data.fill(value),
        shape,
      })
      const { weights, biases } = paramRegions(descriptor)
      const params = rnn.canonicalToParams({
        weights: weights.map(({ shape, size }) => constant(1 / size, shape)),
        biases: biases.map(({ shape }) => constant(1, shape)),
      })
      const state = constant(1, [layers, batch, units])
      const cell = cellMode === 'lstm' ? state : undefined
      const sequence = constant(1, [time, batch, units])
      const pass = {
        input: sequence,
        inputH: state,
        inputC: cell ?? null,
        params,
        sequenceLengths: null,
      }
      const run = await trainingForward(rnn, pass)
      const gradients = await rnn.backward(run.tape, {
        output: sequence,
        outputH: state,
        outputC: cell,
      })
      const results = {
        ...{ y: run.output, hy: run.outputH, cy: run.outputC },
        ...{ dx: gradients.input, dhx: gradients.inputH, dcx: gradients.inputC, dw: gradients.params },
      }
      for (const [result, sum] of Object.entries(expected)) {
        let actual = 0
        for (const value of (
          await required(
            results[result as keyof typeof results],
            `the sample has a sum of ${result} only for cells with this result`,
          ).read()
        ).data)
          actual += value
        expect(Math.abs(actual - sum) / sum, `${result}: ${actual} for ${sum}`).toBeLessThan(tolerance)
      }
    })
  })
}
