import type { Tensor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import fixture from '../../../../fixtures/layers/windows.json'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  activation,
  conv1d,
  conv2d,
  cudnnLSTM,
  dense,
  type LayerDefinition,
  maxPool1d,
  maxPool2d,
  sequential,
} from '../../src/index.js'
import type { Padding } from '../../src/kinds/windows.js'
import { waves } from '../small_data.js'

// Made by fixtures/layers/make_windows.py.
const { batch, outputs } = fixture
const KERNEL = [0.6, 0.77, 0.4] as const
const BIAS = [0.3, 0.91, 0.5] as const
/** TensorFlow takes maxima in float32: half a unit in the last place below 1. */
const FLOAT32 = 2 ** -24
type Case = (typeof fixture.cases)[number]

function layerOf({ kind, padding, height, size, strides }: Case): LayerDefinition {
  const [along, across] = [size as [number, number], strides as [number, number]]
  const initializers = {
    kernelInitializer: (values: Float32Array | Float64Array) => values.set(waves([values.length], [...KERNEL]).data),
    biasInitializer: (values: Float32Array | Float64Array) => values.set(waves([values.length], [...BIAS]).data),
  }
  const common = { filters: outputs, ...initializers }
  const padded = { padding: padding as Exclude<Padding, 'causal'> }
  switch (kind) {
    case 'conv1d':
      return conv1d({ ...common, kernelSize: along[0], strides: across[0], padding: padding as Padding })
    case 'conv2d':
      return conv2d({ ...common, ...padded, height, kernelSize: along, strides: across })
    case 'maxPool1d':
      return maxPool1d({ ...padded, poolSize: along[0], strides: across[0] })
    default:
      return maxPool2d({ ...padded, height, poolSize: along, strides: across })
  }
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>) {
  const errors = Array.from(expected, (value, k) => Math.abs(value - actual[k]))
  expect(Math.max(...errors)).toBeLessThan(1e-12)
}

const decoded = (text: string) => new Float64Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)

describe("layers of windows compute TensorFlow's numbers", () => {
  it.each(
    fixture.cases.map(
      (each) => [`${each.kind} ${each.size} by ${each.strides}, ${each.padding}, T ${each.time}`, each] as const,
    ),
  )('%s', async (_, each) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, [layerOf(each)], { inputSize: each.height * each.channels })
    const y = await model.predict(waves([each.time, batch, each.height * each.channels]))
    expect(y.shape).toEqual(each.shape)
    const expected = decoded(each.output)
    expect(Math.max(...expected.map((value, k) => Math.abs(value - y.data[k])))).toBeLessThan(
      each.kind.startsWith('max') ? FLOAT32 : 1e-12,
    )
  })
})

it("a number of zeros on each side is PyTorch's padding", async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const kernelInitializer = { data: Float64Array.of(100, 10, 1), shape: [3, 1, 1] }
  const options = { filters: 1, kernelSize: 3, kernelInitializer }
  const x = { data: Float64Array.of(1, 2, 3, 4), shape: [4, 1, 1] }
  const outputs = async (strides: number, padding: number | 'same') => {
    using model = sequential(backend, [conv1d({ ...options, strides, padding })], { inputSize: 1 })
    return [...(await model.predict(x)).data]
  }
  expect(await outputs(1, 1)).toEqual(await outputs(1, 'same'))
  // torch.nn.functional.conv1d(stride=2, padding=1) begins in the padding; TensorFlow's same padding does not.
  expect(await outputs(2, 1)).toEqual([12, 234])
  expect(await outputs(2, 'same')).toEqual([123, 340])
  expect(await outputs(3, 2)).toEqual([1, 234])
})

/** A reader of pictures of 6 rows, in the manner of networks for OCR. */
const READER: readonly LayerDefinition[] = [
  conv2d({ height: 6, filters: 3, kernelSize: [3, 3], padding: 'same', activation: 'relu' }),
  maxPool2d({ height: 6, padding: 'same' }),
  conv1d({ filters: 5, kernelSize: 2, padding: 'causal' }),
  maxPool1d({ poolSize: 2, strides: 1, padding: 'same' }),
  activation('relu', { maximum: 4 }),
  cudnnLSTM({ numUnits: 6, direction: 'bidirectional' }),
  dense({ units: 4 }),
]
const line = (steps: number, seed: number) => waves([steps, 6], [1, 0.37 + seed / 10, 0.1], Float64Array)

describe('sequence lengths', () => {
  it('rows of a padded batch have the outputs that they have alone', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, READER, { seed: 2, inputSize: 6 })
    const inputs = [line(9, 1), line(4, 2), line(7, 3), line(1, 4)]
    const together = await model.predict(inputs)
    expect(together.map(({ shape }) => shape[0])).toEqual([5, 2, 4, 1])
    for (const [row, input] of inputs.entries()) {
      const [alone] = await model.predict([input])
      expect(alone.shape).toEqual(together[row].shape)
      expectClose(alone.data, together[row].data)
    }
    expect(backend.stats().tensors).toBe(model.variables.length)
  })

  it('CTC counts the steps that pooling leaves', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, READER, { seed: 2, inputSize: 6 })
    const floats = ({ data, shape }: Tensor<Float64Array>) => ({ data: Float32Array.from(data), shape })
    const examples = [
      { input: floats(line(12, 1)), label: [0, 2] },
      { input: floats(line(8, 4)), label: [1] },
    ]
    const options = { loss: 'ctc', batchSize: 2, epochs: 150, learningRate: 0.02, clipNorm: 1 } as const
    await model.fit(examples, options)
    expect(await model.decode(examples.map(({ input }) => input))).toEqual([[0, 2], [1]])
    expect((await model.evaluate(examples, { batchSize: 2 })).labelErrorRate).toBe(0)
    const tooLong = { input: floats(line(3, 1)), label: [0, 1, 2] }
    await expect(model.fit([tooLong], options)).rejects.toThrow(coded('ERR_CTC_LABELS_TOO_LONG'))
  })

  it('a label of every step is one of every step of the output', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [maxPool1d(), dense({ units: 2 })], { inputSize: 1 })
    const example = { input: { data: Float32Array.of(1, 2, 3, 4), shape: [4, 1] }, label: [0, 1] }
    await model.fit([example, { ...example, input: { data: Float32Array.of(1, 2), shape: [2, 1] }, label: [1] }], {
      loss: 'softmax_cross_entropy',
      batchSize: 2,
    })
    const wrong = model.fit([{ ...example, label: [0, 1, 0, 1] }], { loss: 'softmax_cross_entropy', batchSize: 1 })
    await expect(wrong).rejects.toThrow(coded('ERR_EXAMPLE'))
  })
})

describe('a causal convolution streams', () => {
  const layers = [
    conv1d({ filters: 3, kernelSize: 3, padding: 'causal', activation: 'tanh' }),
    cudnnLSTM({ numUnits: 4 }),
    conv1d({ filters: 2, kernelSize: 1 }),
  ]

  it('in steps of any number, with the outputs of the whole sequence', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, layers, { seed: 1, inputSize: 2 })
    const [T, B, I] = [7, 2, 2]
    const x = waves([T, B, I])
    const whole = await model.predict(x)
    using stream = model.stream({ batch: B })
    const part = (from: number, to: number) => ({
      data: x.data.slice(from * B * I, to * B * I),
      shape: [to - from, B, I],
    })
    const outputs: number[] = []
    for (const [from, to] of [
      [0, 1],
      [1, 4],
      [4, 7],
    ] as const) {
      outputs.push(...(await stream.step(part(from, to))).data)
    }
    expect(outputs).toHaveLength(whole.data.length)
    expectClose(outputs, whole.data)
  })

  it('with its own states: restored, and zeroed by rows', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, layers, { seed: 1, inputSize: 2 })
    using stream = model.stream({ batch: 2 })
    const x = waves([2, 2])
    const first = await stream.step(x)
    const state = await stream.state()
    const second = await stream.step(x)
    stream.restore(state)
    expect(await stream.step(x)).toEqual(second)
    stream.reset([1])
    const third = await stream.step(x)
    expect(third.data.slice(2)).toEqual(first.data.slice(2))
    expect(third.data.slice(0, 2)).not.toEqual(first.data.slice(0, 2))
    expect(() => stream.restore([{ data: new Float64Array(1) }, null, null])).toThrow(coded('ERR_LAYER_STATES'))
  })

  it('others need the whole sequence', () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [conv1d({ filters: 1, kernelSize: 3 })], { inputSize: 2 })
    expect(() => model.stream()).toThrow(coded('ERR_NO_STREAM'))
  })
})
