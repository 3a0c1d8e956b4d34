import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { CudnnGRU, CudnnLSTM, CudnnRNNTanh } from '../src/index.js'
import { floats, ones, valuesOf } from './small_models.js'

const SIZES = { numLayers: 2, numUnits: 3, inputSize: 2 }

// Traps that the original's users fell into.
describe('traps of tf.contrib.cudnn_rnn', () => {
  it('h comes before c in arguments and results', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 1, inputSize: 1, inputMode: 'linear_input' })
    const params = lstm.createParams({ kernelInitializer: 0 })
    const input = { data: new Float32Array(1), shape: [1, 1, 1] }
    const five = { data: Float32Array.of(5), shape: [1, 1, 1] }
    const inference = { isTraining: false } as const
    // With zero parameters every gate is ½ and h does not matter, so c' = ½·c.
    expect(await valuesOf((await lstm.call(input, five, null, params, inference)).outputC)).toEqual([0])
    expect(await valuesOf((await lstm.call(input, null, five, params, inference)).outputC)).toEqual([2.5])
  })

  it('a constant bias initializer counts twice, once for each side', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const rnn = new CudnnRNNTanh(backend, { numLayers: 1, numUnits: 1, inputSize: 1, inputMode: 'linear_input' })
    const params = rnn.createParams({ kernelInitializer: 0, biasInitializer: 0.25 })
    const { output } = await rnn.call(floats(Float64Array, 1, 1, 1), null, params, { isTraining: false })
    expect(await valuesOf(output)).toEqual([Math.tanh(0.5)])
  })

  it('GRU gate biases start at 0, not at the 1 of the CPU cells', async () => {
    using backend = openReferenceBackend()
    const gru = new CudnnGRU(backend, SIZES)
    const { biases } = await gru.paramsToCanonical(gru.createParams({ seed: 4 }))
    expect(biases.every(({ data }) => data.every((value) => value === 0))).toBe(true)
  })

  it('the two bias gradients of a gate are equal, so their sum is twice a cell’s', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const run = await lstm.call(floats(Float32Array, 4, 2, 2), null, null, lstm.createParams({ seed: 3 }))
    const { biases } = await lstm.paramsToCanonical(
      (await lstm.gradients(run.tape, { output: run.output, outputC: run.outputC })).params,
    )
    for (let gate = 0; gate < 4; gate++) expect([...biases[gate].data]).toEqual([...biases[4 + gate].data])
  })

  it('dropout is the probability to drop, between layers, in training alone', async () => {
    using backend = openReferenceBackend()
    const outputs = async (numLayers: number, dropout: number, isTraining: boolean) => {
      const options = { numLayers, numUnits: 64, inputSize: 2, dropout, seed: 5 }
      const lstm = new CudnnLSTM(backend, options)
      const params = lstm.createParams({ seed: 1, biasInitializer: 0.2 })
      const { output } = await lstm.call(floats(Float32Array, 3, 4, 2), null, null, params, { isTraining })
      return valuesOf(output)
    }
    const plain = await outputs(2, 0, false)
    for (const dropout of [0.5, 1]) {
      expect(await outputs(2, dropout, false)).toEqual(plain)
      expect(await outputs(2, dropout, true)).not.toEqual(plain)
      // One layer has nothing between layers: neither its input nor its output is dropped.
      expect(await outputs(1, dropout, true)).toEqual(await outputs(1, 0, false))
    }
    expect(await outputs(2, 0, true)).toEqual(plain)
  })

  it('dropout 1 drops everything: the second layer then sees no input at all', async () => {
    using backend = openReferenceBackend()
    const rnn = new CudnnRNNTanh(backend, { ...SIZES, dropout: 1 })
    const params = rnn.createParams({ seed: 1 })
    // Biases are 0, so without input the last layer stays at 0. A keep probability of 1 would let it move.
    const { output } = await rnn.call(ones(2, 1, 2), null, params)
    expect((await valuesOf(output)).every((value) => value === 0)).toBe(true)
  })

  it('auto_select skips exactly where I = H', () => {
    using backend = openReferenceBackend()
    const mode = (inputSize: number) => new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize }).inputMode
    expect([mode(3), mode(4), mode(5)]).toEqual(['linear_input', 'skip_input', 'linear_input'])
  })
})
