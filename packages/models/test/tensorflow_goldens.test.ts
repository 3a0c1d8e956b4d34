import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type Variable } from '../src/index.js'
import { floats, ones, valuesOf } from './small_models.js'

// Numbers and scenarios of tensorflow/contrib/cudnn_rnn/python/kernel_tests (cudnn_rnn_ops_test.py, cudnn_rnn_test.py).

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

describe('cudnn_rnn_ops_test testSimpleInference: parameters, inputs and states are 1', () => {
  const sizes = { numLayers: 4, numUnits: 200, inputSize: 200 }
  const constants = { kernelInitializer: 1, biasInitializer: 1 }

  it.each(['linear_input', 'skip_input'] as const)('CudnnLSTM, %s: 231833.22', async (inputMode) => {
    using backend = openReferenceBackend()
    for (const dropout of [0, 0.5, 1]) {
      const lstm = new CudnnLSTM(backend, { ...sizes, inputMode, dropout })
      const state = ones(...lstm.stateShape(20))
      const inference = { isTraining: false } as const
      const run = await lstm.call(ones(10, 20, 200), state, state, lstm.createParams(constants), inference)
      const total =
        sum(await valuesOf(run.output)) + sum(await valuesOf(run.outputH)) + sum(await valuesOf(run.outputC))
      expect(Math.abs(total - 231833.22) / 231833.22).toBeLessThan(1e-6)
    }
  })

  it.each([
    [CudnnGRU, sizes, 20, 10, 56000],
    [CudnnRNNTanh, sizes, 20, 10, 56000],
    [CudnnRNNRelu, { numLayers: 2, numUnits: 8, inputSize: 4 }, 4, 2, 130688],
  ] as const)('%o of %o', async (Model, options, batch, time, expected) => {
    using backend = openReferenceBackend()
    const model = new Model(backend, { ...options, inputMode: 'linear_input' })
    const input = ones(time, batch, options.inputSize)
    const params: Variable = model.createParams(constants)
    const run = await model.call(input, ones(...model.stateShape(batch)), params, { isTraining: false })
    const total = sum(await valuesOf(run.output)) + sum(await valuesOf(run.outputH))
    expect(Math.abs(total - expected) / expected).toBeLessThan(1e-6)
  })
})

it('CudnnGRU with skip_input, all parameters 0, x = 1: 0.20482421 as cuDNN 5.1.5 gave on hardware (issue 8311)', async () => {
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 1, inputSize: 1 })
  expect(gru.inputMode).toBe('skip_input')
  const { output } = await gru.call(ones(1, 1, 1), null, gru.createParams({ kernelInitializer: 0 }), {
    isTraining: false,
  })
  expect((await valuesOf(output))[0]).toBeCloseTo(0.20482421, 7)
})

it('testLayerBasic: zero kernels give zero outputs and states', async () => {
  using backend = openReferenceBackend()
  const lstm = new CudnnLSTM(backend, { numLayers: 4, numUnits: 2, inputSize: 2, inputMode: 'linear_input' })
  const params = lstm.createParams({ kernelInitializer: 0 })
  const run = await lstm.call(ones(3, 8, 2), null, null, params, { isTraining: false })
  for (const tensor of [run.output, run.outputH, run.outputC])
    expect(sum((await valuesOf(tensor)).map(Math.abs))).toBe(0)
})

it('testDifferentShapes: one program runs networks and batches of several shapes', async () => {
  using backend = openReferenceBackend()
  for (const inputSize of [28, 100]) {
    const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 100, inputSize })
    const { output } = await gru.call(ones(28, 100, inputSize), null, gru.createParams(), { isTraining: false })
    expect(output.shape).toEqual([28, 100, 100])
  }
})

it.each([
  [1, 1, 1, 1],
  [2, 2, 2, 2],
  [8, 4, 4, 4],
  [32, 16, 16, 32],
])(
  'a bidirectional layer is a forward run beside a reversed one: I %i, U %i, T %i, B %i',
  async (inputSize, numUnits, time, batch) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const sizes = { numLayers: 1, numUnits, inputSize, inputMode: 'linear_input' } as const
    const both = new CudnnLSTM(backend, { ...sizes, direction: 'bidirectional' })
    const one = new CudnnLSTM(backend, sizes)
    const params = both.createParams({ seed: 2, biasInitializer: 0.1 })
    const { weights, biases } = await both.paramsToCanonical(params)
    const input = floats(Float64Array, time, batch, inputSize)
    const reversed = { data: reverseSteps(input.data, time), shape: input.shape }
    const inference = { isTraining: false } as const
    const whole = await valuesOf((await both.call(input, null, null, params, inference)).output)
    const outputs: number[][] = []
    for (const [direction, sequence] of [input, reversed].entries()) {
      const part = <Item>(tensors: readonly Item[]) => tensors.slice(direction * 8, (direction + 1) * 8)
      const own = await one.canonicalToParams(part(weights), part(biases))
      outputs.push(await valuesOf((await one.call(sequence, null, null, own, inference)).output))
    }
    const backward = [...reverseSteps(Float64Array.from(outputs[1]), time)]
    for (let row = 0; row < time * batch; row++) {
      const pair = [
        ...outputs[0].slice(row * numUnits, (row + 1) * numUnits),
        ...backward.slice(row * numUnits, (row + 1) * numUnits),
      ]
      for (const [column, value] of pair.entries()) expect(whole[row * 2 * numUnits + column]).toBeCloseTo(value, 12)
    }
  },
)

function reverseSteps(data: Float64Array, time: number): Float64Array {
  const step = data.length / time
  const reversed = new Float64Array(data.length)
  for (let t = 0; t < time; t++) reversed.set(data.subarray(t * step, (t + 1) * step), (time - 1 - t) * step)
  return reversed
}
