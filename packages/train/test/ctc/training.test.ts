import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Adam, checkGradients, constantRate, Dataset, fit } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { ctcGreedyDecoder, ctcLoss, labelErrorRate } from '../../src/ctc/index.js'

/** A bidirectional LSTM under a dense layer to classes and blank. */
function reader(dtype: 'float32' | 'float64', inputSize: number, numUnits: number, classes: number) {
  const backend = openReferenceBackend({ dtype })
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits, inputSize, direction: 'bidirectional' })
  const params = lstm.createParams({ seed: 3 })
  const array = (length: number, value: (k: number) => number): FloatArray =>
    dtype === 'float32'
      ? Float32Array.from({ length }, (_, k) => value(k))
      : Float64Array.from({ length }, (_, k) => value(k))
  const tensor = (shape: readonly number[], value: (k: number) => number) => ({
    data: array(elementCount(shape), value),
    shape,
  })
  const kernel = {
    name: 'kernel',
    value: backend.tensor(tensor([2 * numUnits, classes], (k) => 0.3 * Math.sin(7 * k))),
  }
  const bias = { name: 'bias', backend, value: backend.zeros([classes]) }
  return { backend, lstm, params, kernel, bias, tensor }
}

interface Batch {
  readonly inputs: Tensor
  readonly lengths: readonly number[]
  readonly labels: readonly (readonly number[])[]
}

async function batchGradients({ backend, lstm, params, kernel, bias }: ReturnType<typeof reader>, batch: Batch) {
  const { output, tape } = await lstm.call(batch.inputs, null, null, params, { sequenceLengths: batch.lengths })
  const logits = backend.ops.linear(output, kernel.value, bias.value)
  const { loss, logitsGradient } = await ctcLoss(backend, { logits, labels: batch.labels, logitLengths: batch.lengths })
  const dense = backend.ops.linearGradients(output, kernel.value, logitsGradient)
  const { params: ofParams } = await lstm.gradients(tape, { output: dense.input })
  return { loss, gradients: [ofParams, dense.kernel, dense.bias] }
}

describe('ctcLoss in training', () => {
  it('hands gradients to a dense layer and a bidirectional CudnnLSTM', async () => {
    const model = reader('float64', 3, 4, 4)
    const { backend, lstm, params, kernel, bias, tensor } = model
    const batch = {
      inputs: tensor([5, 2, 3], (k) => Math.sin(k)),
      lengths: [5, 3],
      labels: [[0, 0, 2], [1]],
    }
    const { gradients } = await batchGradients(model, batch)
    const variables = [params, kernel, bias]
    const read = async (tensors: readonly { read(): Promise<Tensor> }[]) =>
      Promise.all(
        tensors.map(async (each) => {
          const { data, shape } = await each.read()
          return { data: data.slice() as FloatArray, shape }
        }),
      )
    const [p, k, b] = await read(variables.map(({ value }) => value))
    const [dp, dk, db] = await read(gradients)
    const { maxError } = await checkGradients({
      inputs: { params: p, kernel: k, bias: b },
      gradients: { params: dp, kernel: dk, bias: db },
      method: 'directional',
      loss: async (inputs) => {
        backend.ops.assign(params.value, inputs['params'])
        backend.ops.assign(kernel.value, inputs['kernel'])
        backend.ops.assign(bias.value, inputs['bias'])
        return (await (await batchGradients(model, batch)).loss.read()).data[0]
      },
    })
    expect(maxError).toBeLessThan(1e-8)
    expect(lstm.paramsSize()).toBe(dp.data.length)
    backend.dispose()
  })

  it('learns under fit to read marks of any width', async () => {
    const model = reader('float32', 3, 12, 4)
    const { backend, lstm, params, kernel, bias, tensor } = model
    // Labels 0, 1 and 2 are marks on separate lines, two or three frames wide and one or two apart.
    const sample = (seed: number): Batch => {
      const drawn = (k: number) => Math.floor((Math.abs(Math.sin(seed * 12.9898 + k * 78.233)) * 43758.5453) % 1000)
      const labels = Array.from({ length: 4 }, (_, row) => Array.from({ length: 3 }, (_, k) => drawn(row * 3 + k) % 3))
      const inputs = tensor([18, 4, 3], () => 0)
      const lengths = labels.map((row, b) => {
        let t = 0
        for (const [k, label] of row.entries()) {
          for (let width = 2 + (drawn(40 + b * 3 + k) % 2); width > 0; width--)
            inputs.data[(t++ * 4 + b) * 3 + label] = 1
          t += 1 + (drawn(80 + b * 3 + k) % 2)
        }
        return t
      })
      return { inputs, lengths, labels }
    }
    const result = await fit({
      data: Dataset.fromArray(Array.from({ length: 150 }, (_, seed) => sample(seed + 1))),
      batchGradients: (batch: Batch) => batchGradients(model, batch),
      optimizer: new Adam([params, kernel, bias]),
      learningRate: constantRate(0.02),
      maxSteps: 150,
    })
    expect(result.ending).toBe('finished')
    const { inputs, lengths, labels } = sample(1000)
    const { output } = await lstm.call(inputs, null, null, params, { sequenceLengths: lengths, isTraining: false })
    const logits = await backend.ops.linear(output, kernel.value, bias.value).read()
    expect(labelErrorRate(ctcGreedyDecoder(logits, lengths).decoded, labels).rate).toBe(0)
    backend.dispose()
  })
})
