import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { encodeKerasArchive, importWeights } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { cudnnGRU, cudnnLSTM, importKeras, type LayersModel, sequential } from '../../src/index.js'

const FOLDER = join(import.meta.dirname, '../../../../fixtures/interop/keras')
// Made by fixtures/interop/make_keras.py.
const { cases } = JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as {
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}

interface Numbers {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}

type Json = Readonly<Record<string, unknown>>
type Variables = Readonly<Record<string, Tensor<Float32Array>>>

const tensor = (shape: readonly number[], ...data: number[]) => ({ data: Float32Array.from(data), shape })
const doubles = (shape: readonly number[], ...data: number[]) => ({ data: Float64Array.from(data), shape })
const layer = (className: string, config: Json = {}): Json => ({ class_name: className, config })
const inputLayer = (...shape: readonly (number | null)[]) => layer('InputLayer', { batch_shape: [null, ...shape] })

/** A `.keras` file of a Sequential of `layers`, with variables at their paths below `layers/`. */
function archive(layers: unknown, variables: Variables = {}, more: Json = {}): Promise<Uint8Array> {
  const placed = new Map(Object.entries(variables).map(([path, value]) => [`layers/${path}`, value]))
  return encodeKerasArchive({ class_name: 'Sequential', config: { name: 'net', layers }, ...more }, placed)
}

/** Runs `use` with the model of such a file, in float64. */
async function withModel<Result>(
  layers: unknown,
  variables: Variables,
  use: (model: LayersModel) => Promise<Result> | Result,
  more: Json = {},
): Promise<Result> {
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = await importKeras(backend, await archive(layers, variables, more))
  return await use(model)
}

/** The output of the imported model. */
function outputOf(layers: unknown, variables: Variables, input: Tensor): Promise<Tensor> {
  return withModel(layers, variables, async (model) => model.predict(input))
}

/** Imports a file that must be refused, and returns the error; the executor must hold no tensor afterwards. */
async function refusalOf(layers: unknown, variables: Variables = {}, more: Json = {}): Promise<Error> {
  using backend = openReferenceBackend()
  const error = await importKeras(backend, await archive(layers, variables, more)).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Error)
  expect(backend.stats().tensors).toBe(0)
  return error as Error
}

/** No text can be made of it. */
const NO_TEXT = { toString: 1, valueOf: 1 }

const close = (values: ArrayLike<number>) => Array.from(values, (value) => expect.closeTo(value, 9))

describe('importKeras computes in closed form', () => {
  test('Dense: the product of input and kernel, plus the bias, through its activation', async () => {
    const variables = {
      'dense/vars/0': tensor([2, 3], 1, 2, 3, 4, 5, 6),
      'dense/vars/1': tensor([3], 10, 20, -100),
    }
    const layers = [inputLayer(2), layer('Dense', { name: 'dense', units: 3, activation: 'relu' })]
    const { data, shape } = await outputOf(layers, variables, doubles([2, 2], 1, 1, 2, 0))
    expect(shape).toEqual([2, 3])
    expect([...data]).toEqual([15, 27, 0, 12, 24, 0])
  })

  test('Dense without a bias, and with an activation of null, which is linear', async () => {
    const layers = [inputLayer(2), layer('Dense', { units: 1, activation: null, use_bias: false })]
    const { data } = await outputOf(layers, { 'dense/vars/0': tensor([2, 1], 2, -3) }, doubles([1, 2], 5, 7))
    expect([...data]).toEqual([-11])
  })

  test('UpSampling1D without a size: Keras repeats each step twice', async () => {
    const { data } = await outputOf([inputLayer(null, 1), layer('UpSampling1D')], {}, doubles([2, 1, 1], 1, 2))
    expect([...data]).toEqual([1, 1, 2, 2])
  })

  test.each([
    ['UpSampling2D', 4, 4],
    ['ZeroPadding2D', 4, 4],
    ['Cropping2D', 2, 2],
  ])('%s without its option has the default of Keras', async (className, steps, rows) => {
    const { shape } = await outputOf([inputLayer(null, 2, 1), layer(className)], {}, doubles([2, 1, 2], 1, 2, 3, 4))
    expect(shape).toEqual([steps, 1, rows])
  })

  test.each<[string, string, Json, Variables, string]>([
    [
      'a bias that its options deny',
      'Dense',
      { units: 1, use_bias: false },
      { 'dense/vars/0': tensor([2, 1], 2, -3), 'dense/vars/1': tensor([1], 1) },
      'dense/vars/1, which is in the file',
    ],
    ['null in place of a number', 'LayerNormalization', { epsilon: null, scale: false, center: false }, {}, 'epsilon'],
    ['null in place of an axis', 'Softmax', { axis: null }, {}, 'axis'],
    ['a mean without a variance', 'Normalization', { axis: [-1], mean: [1, 2] }, {}, 'both mean and variance'],
  ])('a layer is refused that has %s', async (_, className, config, variables, rule) => {
    const layers = [inputLayer(2), layer(className, config)]
    await expect(outputOf(layers, variables, doubles([1, 2], 5, 7))).rejects.toThrow(rule)
  })

  test.each([
    ['of another module', { ...layer('Softmax'), module: 'my_layers' }, 'must be a class of Keras'],
    ['that is registered', { ...layer('Softmax'), registered_name: 'own>Softmax' }, 'must be a class of Keras'],
    ['of Python code', layer('Lambda'), 'compute it by layers or keras.ops'],
    ['of texts', layer('TextVectorization'), 'save the model behind it'],
  ])('a class is refused %s', async (_, own, rule) => {
    const refusal = await refusalOf([inputLayer(2), own])
    expect(refusal).toEqual(coded('ERR_UNKNOWN_LAYER', { message: expect.stringContaining(rule) }))
  })

  test('Dense layers of one class at the places that Keras numbers in the order of the model', async () => {
    const layers = [
      inputLayer(1),
      layer('Dense', { name: 'b', units: 1, use_bias: false }),
      layer('Activation', { name: 'nothing', activation: 'linear' }),
      layer('Dense', { name: 'a', units: 1, use_bias: false }),
      layer('Dense', { name: 'c', units: 2, use_bias: false }),
    ]
    const variables = {
      'dense/vars/0': tensor([1, 1], 2),
      'dense_1/vars/0': tensor([1, 1], 5),
      'dense_2/vars/0': tensor([1, 2], 1, -1),
    }
    const { data } = await outputOf(layers, variables, doubles([1, 1], 3))
    expect([...data]).toEqual([30, -30])
  })

  test('Embedding: the row of each id', async () => {
    const layers = [layer('Embedding', { input_dim: 3, output_dim: 2, mask_zero: true })]
    const variables = { 'embedding/vars/0': tensor([3, 2], 1, 2, 3, 4, 5, 6) }
    const { data, shape } = await outputOf(layers, variables, { data: Int32Array.of(2, 0, 1, 2), shape: [2, 2] })
    expect(shape).toEqual([2, 2, 2])
    expect([...data]).toEqual([5, 6, 1, 2, 3, 4, 5, 6])
  })

  test('Conv1D: kernel [time, columns, filters] along time, with each padding', async () => {
    const variables = {
      'conv1d/vars/0': tensor([2, 1, 1], 10, 1),
      'conv1d/vars/1': tensor([1], 0.5),
    }
    const input = doubles([3, 1, 1], 1, 2, 3)
    const convolved = async (config: Json, held: Variables = variables) => {
      const conv1d = layer('Conv1D', { name: 'conv', filters: 1, kernel_size: [2], ...config })
      return [...(await outputOf([inputLayer(null, 1), conv1d], held, input)).data]
    }
    expect(await convolved({})).toEqual([12.5, 23.5])
    expect(await convolved({ padding: 'same', strides: [1] })).toEqual([12.5, 23.5, 30.5])
    expect(await convolved({ padding: 'causal', dilation_rate: [1], groups: 1 })).toEqual([1.5, 12.5, 23.5])
    expect(await convolved({ strides: [2], kernel_size: 2 })).toEqual([12.5])
    const { 'conv1d/vars/0': kernel } = variables
    const unbiased = { use_bias: false, activation: 'linear' }
    expect(await convolved(unbiased, { 'conv1d/vars/0': kernel })).toEqual([12, 23])
    await expect(convolved(unbiased)).rejects.toThrow(/by its options it must not have layers\/conv1d\/vars\/1/)
    expect(await convolved({ dilation_rate: [2] })).toEqual([13.5])
  })

  test('Conv1D of groups, DepthwiseConv1D and SeparableConv1D are convolutions with zeros', async () => {
    const input = doubles([2, 1, 2], 1, 2, 3, 4)
    const own = { kernel_size: [2], use_bias: false }
    // Each filter of one channel: 1·1 + 10·3 and 2·2 + 20·4.
    const kernel = tensor([2, 1, 2], 1, 2, 10, 20)
    const groups = layer('Conv1D', { ...own, filters: 2, groups: 2 })
    const grouped = await outputOf([inputLayer(null, 2), groups], { 'conv1d/vars/0': kernel }, input)
    expect([...grouped.data]).toEqual([31, 84])
    const depthwise = layer('DepthwiseConv1D', { ...own, depth_multiplier: 1 })
    const taps = { 'depthwise_conv1d/vars/0': tensor([2, 2, 1], 1, 2, 10, 20) }
    expect([...(await outputOf([inputLayer(null, 2), depthwise], taps, input)).data]).toEqual([31, 84])
    const separable = layer('SeparableConv1D', { ...own, filters: 1, depth_multiplier: 1 })
    const both = {
      'separable_conv1d/vars/0': tensor([2, 2, 1], 1, 2, 10, 20),
      'separable_conv1d/vars/1': tensor([1, 2, 1], 1, -1),
    }
    expect([...(await outputOf([inputLayer(null, 2), separable], both, input)).data]).toEqual([31 - 84])
  })

  test.each<[string, Json, readonly number[], readonly number[]]>([
    ['AveragePooling1D', { pool_size: [2], strides: [1], padding: 'same' }, [3, 1, 2], [2, 3, 4, 5, 5, 6]],
    ['AveragePooling1D', { pool_size: [3] }, [1, 1, 2], [3, 4]],
    ['ZeroPadding1D', { padding: [1, 0] }, [4, 1, 2], [0, 0, 1, 2, 3, 4, 5, 6]],
    ['Cropping1D', { cropping: 1 }, [1, 1, 2], [3, 4]],
    ['UpSampling1D', { size: 2 }, [6, 1, 2], [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6]],
    ['Flatten', {}, [1, 6], [1, 2, 3, 4, 5, 6]],
    ['Reshape', { target_shape: [2, -1] }, [2, 1, 3], [1, 2, 3, 4, 5, 6]],
    ['Permute', { dims: [2, 1] }, [2, 1, 3], [1, 3, 5, 2, 4, 6]],
    ['Rescaling', { scale: 2, offset: 1 }, [3, 1, 2], [3, 5, 7, 9, 11, 13]],
    ['LeakyReLU', { negative_slope: 0.5 }, [3, 1, 2], [1, 2, 3, 4, 5, 6]],
    ['ReLU', { threshold: 4, negative_slope: 2 }, [3, 1, 2], [-6, -4, -2, 4, 5, 6]],
  ])('%s %j', async (className, config, shape, expected) => {
    const input = doubles([3, 1, 2], 1, 2, 3, 4, 5, 6)
    const output = await outputOf([inputLayer(3, 2), layer(className, config)], {}, input)
    expect([output.shape, ...output.data]).toEqual([shape, ...expected])
  })

  test('Reshape refuses rows of other lengths than those of the file', async () => {
    await withModel([inputLayer(3, 2), layer('Flatten')], {}, async (model) => {
      const input = doubles([3, 1, 2], 1, 2, 3, 4, 5, 6)
      for (const [given, options] of [
        [doubles([1, 1, 2], 1, 2), {}],
        [input, { sequenceLengths: [2] }],
      ] as const) {
        await expect(model.predict(given, options)).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS'))
      }
    })
  })

  test('MaxPooling1D: the strides are the size of the pool if none are given', async () => {
    const input = doubles([4, 1, 1], 1, 5, 2, 3)
    const pooled = async (config: Json) => [
      ...(await outputOf([inputLayer(null, 1), layer('MaxPooling1D', config)], {}, input)).data,
    ]
    expect(await pooled({ pool_size: [2], strides: [1], padding: 'valid' })).toEqual([5, 5, 3])
    expect(await pooled({ pool_size: [2], strides: [2] })).toEqual([5, 3])
    expect(await pooled({ pool_size: [2], strides: null })).toEqual([5, 3])
    expect(await pooled({ pool_size: 3, strides: 3, padding: 'same' })).toEqual([5, 3])
  })

  test('LayerNormalization: gamma and beta of the last axis, with its epsilon', async () => {
    const variables = {
      'layer_normalization/vars/0': tensor([2], 2, 4),
      'layer_normalization/vars/1': tensor([2], 1, -1),
    }
    for (const axis of [-1, [-1]]) {
      const layers = [inputLayer(2), layer('LayerNormalization', { axis, epsilon: 0 })]
      const { data } = await outputOf(layers, variables, doubles([1, 2], 3, 7))
      expect([...data]).toEqual(close([-1, 3]))
    }
    // Variance 4 and epsilon 12: the deviations ±2 are divided by 4.
    const layers = [inputLayer(2), layer('LayerNormalization', { axis: -1, epsilon: 12 })]
    expect([...(await outputOf(layers, variables, doubles([1, 2], 3, 7))).data]).toEqual(close([0, 1]))
  })

  test.each([2, [2], [-1], null, undefined])('LayerNormalization of sequences, whose axis is %o', async (axis) => {
    const variables = {
      'layer_normalization/vars/0': tensor([2], 2, 4),
      'layer_normalization/vars/1': tensor([2], 1, -1),
    }
    const layers = [inputLayer(null, 2), layer('LayerNormalization', { axis, epsilon: 0 })]
    const { data } = await outputOf(layers, variables, doubles([2, 1, 2], 3, 7, 9, 5))
    expect([...data]).toEqual(close([-1, 3, 3, -5]))
  })

  test('LayerNormalization after the time axis has gone, and in TimeDistributed, where the last axis is 1', async () => {
    const variables = (place: string) => ({
      [`${place}/vars/0`]: tensor([2], 1, 1),
      [`${place}/vars/1`]: tensor([2], 0, 0),
    })
    const norm = layer('LayerNormalization', { axis: [1], epsilon: 0 })
    const input = doubles([2, 1, 2], 0, 8, 6, 4)
    const pooled = [inputLayer(null, 2), layer('GlobalMaxPooling1D'), norm]
    expect([...(await outputOf(pooled, variables('layer_normalization'), input)).data]).toEqual(close([-1, 1]))
    const wrapped = [inputLayer(null, 2), layer('TimeDistributed', { layer: norm })]
    const { data } = await outputOf(wrapped, variables('time_distributed/layer'), input)
    expect([...data]).toEqual(close([-1, 1, 1, -1]))
  })

  test('Softmax over the last axis by its number', async () => {
    const layers = [inputLayer(null, 2), layer('Softmax', { axis: 2 })]
    const { data } = await outputOf(layers, {}, doubles([2, 1, 2], 0, Math.log(3), Math.log(4), 0))
    expect([...data]).toEqual(close([0.25, 0.75, 0.8, 0.2]))
  })

  test.each<[Json, readonly number[]]>([
    [layer('ReLU'), [0, 0, 3]],
    [layer('ReLU', { max_value: null, negative_slope: 0, threshold: 0 }), [0, 0, 3]],
    [layer('ReLU', { max_value: 2.5 }), [0, 0, 2.5]],
    [layer('Activation', { activation: 'relu' }), [0, 0, 3]],
    [layer('Activation', { activation: 'tanh' }), [Math.tanh(-2), 0, Math.tanh(3)]],
    [layer('Activation', { activation: 'sigmoid' }), [1 / (1 + Math.exp(2)), 0.5, 1 / (1 + Math.exp(-3))]],
    [layer('Activation', { activation: 'elu' }), [Math.expm1(-2), 0, 3]],
    [layer('Activation', { activation: 'softplus' }), [-2, 0, 3].map((x) => Math.log1p(Math.exp(x)))],
    [layer('Softmax', { axis: -1 }), [-2, 0, 3].map((x) => Math.exp(x) / (Math.exp(-2) + 1 + Math.exp(3)))],
    [layer('Dropout', { rate: 0.5, seed: null, noise_shape: null }), [-2, 0, 3]],
  ])('%o', async (described, expected) => {
    const { data } = await outputOf([inputLayer(3), described], {}, doubles([1, 3], -2, 0, 3))
    expect([...data]).toEqual(close(expected))
  })

  test('GlobalAveragePooling1D and GlobalMaxPooling1D: over time, and over the valid steps alone', async () => {
    const input = doubles([3, 1, 2], 1, 9, 2, 8, 6, -2)
    for (const [className, all, first] of [
      ['GlobalAveragePooling1D', [3, 5], [1.5, 8.5]],
      ['GlobalMaxPooling1D', [6, 9], [2, 9]],
    ] as const) {
      await withModel([inputLayer(null, 2), layer(className)], {}, async (model) => {
        expect([...(await model.predict(input)).data]).toEqual(close(all))
        const sequenceLengths = Int32Array.of(2)
        expect([...(await model.predict(input, { sequenceLengths })).data]).toEqual(close(first))
      })
    }
  })

  test('TimeDistributed: its layer at each step, with the variables below the wrapper', async () => {
    const inner = layer('Dense', { name: 'inner', units: 1, activation: 'linear' })
    const layers = [inputLayer(null, 2), layer('TimeDistributed', { name: 'each', layer: inner })]
    const variables = {
      'time_distributed/layer/vars/0': tensor([2, 1], 1, 10),
      'time_distributed/layer/vars/1': tensor([1], 100),
    }
    const { data, shape } = await outputOf(layers, variables, doubles([2, 1, 2], 1, 2, 3, 4))
    expect(shape).toEqual([2, 1, 1])
    expect([...data]).toEqual([121, 143])
  })

  test('SimpleRNN of one unit, whose recurrence is written out', async () => {
    const config = { name: 'plain', units: 1, activation: 'tanh', return_sequences: true }
    const variables = {
      'simple_rnn/cell/vars/0': tensor([1, 1], 0.5),
      'simple_rnn/cell/vars/1': tensor([1, 1], 2),
      'simple_rnn/cell/vars/2': tensor([1], 0.25),
    }
    const first = Math.tanh(0.5 * 1 + 0.25)
    const second = Math.tanh(0.5 * 3 + 2 * first + 0.25)
    const input = doubles([2, 1, 1], 1, 3)
    const sequences = await outputOf([inputLayer(null, 1), layer('SimpleRNN', config)], variables, input)
    expect([...sequences.data]).toEqual(close([first, second]))
    const last = [inputLayer(null, 1), layer('SimpleRNN', { ...config, return_sequences: false })]
    const state = await outputOf(last, variables, input)
    expect(state.shape).toEqual([1, 1])
    expect([...state.data]).toEqual(close([second]))
  })

  test('Bidirectional without sequences: the last state of each direction, that of the backward one at step 0', async () => {
    const side = (name: string, go_backwards: boolean) =>
      layer('SimpleRNN', { name, units: 1, activation: 'relu', use_bias: false, return_sequences: false, go_backwards })
    const config = {
      name: 'both',
      merge_mode: 'concat',
      layer: side('forward', false),
      backward_layer: side('backward', true),
    }
    const variables = {
      'bidirectional/forward_layer/cell/vars/0': tensor([1, 1], 1),
      'bidirectional/forward_layer/cell/vars/1': tensor([1, 1], 10),
      'bidirectional/backward_layer/cell/vars/0': tensor([1, 1], 1),
      'bidirectional/backward_layer/cell/vars/1': tensor([1, 1], 100),
    }
    const { data, shape } = await outputOf(
      [inputLayer(null, 1), layer('Bidirectional', config)],
      variables,
      doubles([3, 1, 1], 1, 2, 3),
    )
    expect(shape).toEqual([1, 2])
    expect([...data]).toEqual([123, 30_201])
  })
})

describe('importKeras computes the outputs of Keras', () => {
  test.each([
    'gru.keras',
    'gru.legacy.h5',
    'lstm_stacked.keras',
    'lstm_stacked.legacy.h5',
    'bidirectional_lstm.keras',
    'bidirectional_lstm.legacy.h5',
    'simple_rnn.legacy.h5',
    'simple_rnn_relu.keras',
    'gru_backwards.keras',
    'gru_reset_before.keras',
    'lstm_hard_sigmoid.keras',
  ])('%s', async (file) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = await importKeras(backend, join(FOLDER, file))
    const { input, output } = cases[file.split('.')[0]]
    const { data, shape } = await model.predict(doubles(input.shape, ...input.data))
    expect(shape).toEqual(output.shape)
    expect([...data]).toEqual(output.data.map((value) => expect.closeTo(value, 6)))
  })

  test('and refuses files of weights alone', async () => {
    using backend = openReferenceBackend()
    for (const file of ['gru.weights.h5', 'cudnn_lstm.h5'])
      await expect(importKeras(backend, join(FOLDER, file))).rejects.toThrow(coded('ERR_NOT_A_MODEL'))
  })
})

test('importKeras names the reader of an ONNX model', async () => {
  using backend = openReferenceBackend()
  await expect(importKeras(backend, join(FOLDER, '../onnx/gru.onnx'))).rejects.toThrow(
    coded('ERR_NOT_A_MODEL', {
      message: expect.stringMatching(/the format onnx. openModel\(file, \{ ort \}\) opens it/),
    }),
  )
})

test.each([
  ['bidirectional_lstm', cudnnLSTM],
  ['gru', cudnnGRU],
] as const)('a layer takes an imported network: %s', async (name, layerOf) => {
  const network = (await importWeights(join(FOLDER, `${name}.keras`))).network()
  using backend = openReferenceBackend()
  using model = sequential(backend, [layerOf({ network })])
  const { input, output } = cases[name]
  const { data } = await model.predict(tensor(input.shape, ...input.data))
  expect([...data]).toEqual(output.data.map((value) => expect.closeTo(value, 5)))
})

describe('the input of an imported model', () => {
  const dense = { 'dense/vars/0': tensor([2, 1], 1, 1), 'dense/vars/1': tensor([1], 0) }
  const inputs = async (layers: readonly Json[], variables: Variables, more: Json = {}) =>
    withModel(layers, variables, ({ input }) => ({ ...input }), more)
  const kernel = { 'conv1d/vars/0': tensor([3, 2, 1], 1, 2, 3, 4, 5, 6), 'conv1d/vars/1': tensor([1], 0) }
  const conv1d = layer('Conv1D', { filters: 1, kernel_size: [3] })

  test('is a vector or a sequence as the first layer describes it', async () => {
    const units = { units: 1 }
    expect(await inputs([inputLayer(2), layer('Dense', units)], dense)).toEqual({ isSequence: false, features: 2 })
    expect(await inputs([inputLayer(7, 2), layer('Dense', units)], dense)).toEqual({ isSequence: true, features: 2 })
    const older = layer('Dense', { ...units, batch_input_shape: [null, 2] })
    expect(await inputs([older], dense)).toEqual({ isSequence: false, features: 2 })
  })

  test('is described by the model where no layer describes it', async () => {
    const layers = [layer('Dense', { units: 1 })]
    const vector = { config: { name: 'net', layers, build_input_shape: [null, 2] } }
    expect(await inputs(layers, dense, vector)).toEqual({ isSequence: false, features: 2 })
    const built = { build_config: { input_shape: [null, 2] } }
    expect(await inputs(layers, dense, built)).toEqual({ isSequence: false, features: 2 })
    const dropped = [layer('Dropout', { rate: 0.1 }), ...layers]
    const sequence = { config: { name: 'net', layers: dropped, build_input_shape: [null, 5, 2] } }
    expect(await inputs(dropped, dense, sequence)).toEqual({ isSequence: true, features: 2 })
  })

  test('is a sequence of the rows of the first kernel where nothing describes it', async () => {
    expect(await inputs([layer('Dense', { units: 1 })], dense)).toEqual({ isSequence: true, features: 2 })
    expect(await inputs([conv1d], kernel)).toEqual({ isSequence: true, features: 2 })
    const norm = {
      'layer_normalization/vars/0': tensor([3], 1, 1, 1),
      'layer_normalization/vars/1': tensor([3], 0, 0, 0),
    }
    expect(await inputs([layer('LayerNormalization', { axis: -1 })], norm)).toEqual({ isSequence: true, features: 3 })
  })
})

describe('importKeras refuses with ERR_UNKNOWN_LAYER, naming the layer', () => {
  const dense = (config: Json) => layer('Dense', { name: 'top', units: 1, ...config })
  const kernel = { 'dense/vars/0': tensor([2, 1], 1, 1), 'dense/vars/1': tensor([1], 0) }
  const conv1d = (config: Json) => layer('Conv1D', { name: 'conv', filters: 1, kernel_size: [1], ...config })
  const convolution = { 'conv1d/vars/0': tensor([1, 2, 1], 1, 1), 'conv1d/vars/1': tensor([1], 0) }
  const norm = { 'layer_normalization/vars/0': tensor([2], 1, 1), 'layer_normalization/vars/1': tensor([2], 0, 0) }

  test.each<[string, string, Json, Variables]>([
    ['a class that is not here', 'l (ConvLSTM1D)', layer('ConvLSTM1D', { name: 'l' }), {}],
    [
      'a layer of a model within',
      'inner/l (ConvLSTM1D)',
      layer('Sequential', { name: 'inner', layers: [layer('ConvLSTM1D', { name: 'l' })] }),
      {},
    ],
    ['no units', 'top (Dense)', dense({ units: 0 }), kernel],
    ['units that are not a number', 'top (Dense)', dense({ units: '1' }), kernel],
    ['another activation', 'top (Dense)', dense({ activation: 'mine' }), kernel],
    ['a custom activation', 'top (Dense)', dense({ activation: { class_name: 'mine' } }), kernel],
    ['variables that are missing', 'top (Dense)', dense({}), {}],
    ['a bias that is missing', 'top (Dense)', dense({}), { 'dense/vars/0': tensor([2, 1], 1, 1) }],
    [
      'a bias of another size',
      'top (Dense)',
      dense({}),
      { 'dense/vars/0': tensor([2, 1], 1, 1), 'dense/vars/1': tensor([2], 0, 0) },
    ],
    [
      'an embedding of another size',
      'e (Embedding)',
      layer('Embedding', { name: 'e', input_dim: 4, output_dim: 2 }),
      { 'embedding/vars/0': tensor([3, 2], 1, 2, 3, 4, 5, 6) },
    ],
    ['groups that divide no channels', 'conv (Conv1D)', conv1d({ groups: 2 }), convolution],
    ['two axes', 'conv (Conv1D)', conv1d({ kernel_size: [1, 1] }), convolution],
    ['strides of zero', 'conv (Conv1D)', conv1d({ strides: [0] }), convolution],
    ['another padding', 'conv (Conv1D)', conv1d({ padding: 'full' }), convolution],
    ['channels first', 'conv (Conv1D)', conv1d({ data_format: 'channels_first' }), convolution],
    [
      'causal pools',
      'p (MaxPooling1D)',
      layer('MaxPooling1D', { name: 'p', pool_size: 2, strides: 2, padding: 'causal' }),
      {},
    ],
    ['a slope that is text', 'r (ReLU)', layer('ReLU', { name: 'r', negative_slope: '0.1' }), {}],
    ['pictures of sequences', 'c (Conv2D)', layer('Conv2D', { name: 'c', filters: 1, kernel_size: [1, 1] }), {}],
    ['a form of other numbers', 'f (Reshape)', layer('Reshape', { name: 'f', target_shape: [3, 5] }), {}],
    ['a form of unknown steps', 'f (Flatten)', layer('Flatten', { name: 'f' }), {}],
    ['an order of more axes', 'p (Permute)', layer('Permute', { name: 'p', dims: [2, 1, 3] }), {}],
    ['slopes of each step', 'p (PReLU)', layer('PReLU', { name: 'p' }), {}],
    [
      'attention between axes',
      'a (MultiHeadAttention)',
      layer('MultiHeadAttention', { name: 'a', num_heads: 1, key_dim: 1, attention_axes: [2] }),
      {},
    ],
    [
      'a layer of several steps at each step',
      't (TimeDistributed)',
      layer('TimeDistributed', { name: 't', layer: layer('UpSampling1D', { size: 2 }) }),
      {},
    ],
    ['a bound of zero', 'r (ReLU)', layer('ReLU', { name: 'r', max_value: 0 }), {}],
    ['a bound that is not a number', 'r (ReLU)', layer('ReLU', { name: 'r', max_value: 'six' }), {}],
    ['a softmax over two axes', 's (Softmax)', layer('Softmax', { name: 's', axis: [-2, -1] }), {}],
    ['an unknown option', 'd (Dropout)', layer('Dropout', { name: 'd', rate: 0.1, shared: true }), {}],
    ['half precision', 'top (Dense)', dense({ dtype: { config: { name: 'mixed_float16' } } }), kernel],
    ['an object for a text', 'top (Dense)', dense({ activation: { toString: 1, valueOf: 1 } }), kernel],
    ['an object for a number', 'd (Dropout)', layer('Dropout', { name: 'd', rate: { toString: 1, valueOf: 1 } }), {}],
    ['another axis', 'n (LayerNormalization)', layer('LayerNormalization', { name: 'n', axis: 1 }), norm],
    ['an axis past the last', 'n (LayerNormalization)', layer('LayerNormalization', { name: 'n', axis: [3] }), norm],
    ['two axes', 'n (LayerNormalization)', layer('LayerNormalization', { name: 'n', axis: [1, 2] }), norm],
    ['an axis that is text', 'n (LayerNormalization)', layer('LayerNormalization', { name: 'n', axis: '2' }), norm],
    [
      'the axis of sequences in slices of them',
      't (LayerNormalization)',
      layer('TimeDistributed', { name: 't', layer: layer('LayerNormalization', { axis: [2] }) }),
      { 'time_distributed/layer/vars/0': tensor([2], 1, 1), 'time_distributed/layer/vars/1': tensor([2], 0, 0) },
    ],
    [
      'root mean squares',
      'n (LayerNormalization)',
      layer('LayerNormalization', { name: 'n', axis: -1, rms_scaling: true }),
      norm,
    ],
    [
      'dimensions that are kept by a text',
      'g (GlobalMaxPooling1D)',
      layer('GlobalMaxPooling1D', { name: 'g', keepdims: 'yes' }),
      {},
    ],
    [
      'channels first of a pool',
      'g (GlobalAveragePooling1D)',
      layer('GlobalAveragePooling1D', { name: 'g', data_format: 'channels_first' }),
      {},
    ],
    ['an operation without operands', 'g (GetItem)', layer('GetItem', { name: 'g' }), {}],
    ['operands that are none', 'a (Add)', layer('Add', { name: 'a', operands: 3 }), {}],
    [
      'a model of an object as name',
      'Sequential/l (ConvLSTM1D)',
      layer('Sequential', { name: NO_TEXT, layers: [layer('ConvLSTM1D', { name: 'l' })] }),
      {},
    ],
    [
      'cells that are none',
      'r/cell (RNN)',
      layer('RNN', { name: 'r', cell: layer('StackedRNNCells', { cells: [3] }) }),
      {},
    ],
    [
      'cells of an object as class',
      'r/cell (RNN)',
      layer('RNN', { name: 'r', cell: layer('StackedRNNCells', { cells: [{ class_name: NO_TEXT }] }) }),
      {},
    ],
    [
      'means of other columns',
      'n (Normalization)',
      layer('Normalization', { name: 'n', axis: [-1], mean: [1], variance: [1] }),
      {},
    ],
    ['a maximum with a number', 'm (Max)', layer('Max', { name: 'm', axis: 1, initial: 0 }), {}],
    ['a product of one value', 'd (Dot)', layer('Dot', { name: 'd', axes: 1 }), {}],
    ['a wrapper of nothing', 't (TimeDistributed)', layer('TimeDistributed', { name: 't' }), {}],
    [
      'a recurrent layer at each step',
      't (LSTM)',
      layer('TimeDistributed', { name: 't', layer: layer('LSTM', { name: 'own', units: 1 }) }),
      {},
    ],
  ])('%s', async (_, label, described, variables) => {
    expect(await refusalOf([inputLayer(null, 2), described], variables)).toEqual(
      coded('ERR_UNKNOWN_LAYER', { layer: label }),
    )
  })

  const gru = (config: Json) => layer('GRU', { name: 'gru', units: 1, activation: 'tanh', ...config })
  const gruVariables = {
    'gru/cell/vars/0': tensor([2, 3], 1, 2, 3, 4, 5, 6),
    'gru/cell/vars/1': tensor([1, 3], 1, 2, 3),
    'gru/cell/vars/2': tensor([2, 3], 1, 2, 3, 4, 5, 6),
  }
  const gates = { recurrent_activation: 'sigmoid', reset_after: true }

  test('a layer of a Sequential that gives its states beside its output', async () => {
    const refusal = await refusalOf([inputLayer(null, 2), gru({ ...gates, return_state: true })], gruVariables)
    expect(refusal).toEqual(coded('ERR_UNKNOWN_LAYER', { layer: 'gru (GRU)' }))
  })

  test('a layer that keeps its state between batches, unless its calls may begin with zeros', async () => {
    const layers = [inputLayer(null, 2), gru({ ...gates, stateful: true })]
    const refusal = await refusalOf(layers, gruVariables)
    expect(refusal).toEqual(coded('ERR_UNKNOWN_LAYER', { layer: 'gru (GRU)' }))
    expect((refusal as Error).message).toContain('model.stream()')
    using backend = openReferenceBackend()
    const read = async (stateful: boolean) => {
      const model = await importKeras(
        backend,
        await archive([inputLayer(null, 2), gru({ ...gates, stateful })], gruVariables),
        {
          restarts: true,
        },
      )
      const x = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 1, 2] }
      return [await model.predict(x), await model.predict(x)]
    }
    const [first, second] = await read(true)
    expect(second).toEqual(first)
    expect(await read(false)).toEqual([first, second])
  })

  test('a recurrent layer without variables', async () => {
    expect(await refusalOf([inputLayer(null, 2), gru(gates)])).toEqual(coded('ERR_WEIGHTS_OTHER_FUNCTION'))
  })

  test('a layer after others that were read: their tensors are not kept', async () => {
    const layers = [inputLayer(null, 2), gru(gates), dense({}), layer('Lambda', { name: 'mine' })]
    expect(
      await refusalOf(layers, { ...gruVariables, 'dense/vars/0': tensor([1, 1], 1), 'dense/vars/1': tensor([1], 1) }),
    ).toEqual(coded('ERR_UNKNOWN_LAYER', { layer: 'mine (Lambda)' }))
  })

  test('layers whose sizes do not fit, with the code of a model that is built', async () => {
    const layers = [inputLayer(2), layer('GlobalMaxPooling1D', { name: 'pool' })]
    expect(await refusalOf(layers)).toEqual(coded('ERR_LAYERS_DO_NOT_FIT'))
  })

  test('a kernel of other sizes than those of the layer, and releases the model', async () => {
    const wide = { 'dense/vars/0': tensor([3, 1], 1, 1, 1), 'dense/vars/1': tensor([1], 0) }
    expect(await refusalOf([inputLayer(2), dense({})], wide)).toEqual(
      coded('ERR_UNKNOWN_LAYER', { layer: 'top (Dense)' }),
    )
  })
})

describe('importKeras refuses with ERR_NOT_A_MODEL', () => {
  test.each<[string, Json]>([
    ['a Functional model', { class_name: 'Functional' }],
    ['a layer without a class', { class_name: 'Sequential', config: { layers: [{ config: {} }] } }],
    ['a class that is not a text', { class_name: 'Sequential', config: { layers: [{ class_name: { toString: 1 } }] } }],
    ['a model without a class', { class_name: null }],
    ['a model without layers', { config: {} }],
    ['layers that are not a list', { config: { layers: { 0: layer('Dense') } } }],
    ['a layer that is not an object', { config: { layers: ['Dense'] } }],
    ['a configuration that is not an object', { config: 'layers' }],
  ])('%s', async (_, more) => {
    expect(await refusalOf([], {}, more)).toEqual(coded('ERR_NOT_A_MODEL'))
  })

  test('a list of layers without a model around it is one of Keras before 2.2.3', async () => {
    const layers = [layer('Dense', { name: 'a', units: 1, batch_input_shape: [null, 1] })]
    const variables = { 'dense/vars/0': tensor([1, 1], 3), 'dense/vars/1': tensor([1], 1) }
    await withModel(
      layers,
      variables,
      async (model) => {
        expect([...(await model.predict(doubles([1, 1], 2))).data]).toEqual([7])
      },
      { config: layers },
    )
  })
})

describe('the names of imported layers', () => {
  test('are those of Keras where they can be, and otherwise those of their kind', async () => {
    const layers = [
      inputLayer(1),
      layer('Dense', { name: 'mine.1', units: 1, use_bias: false }),
      layer('Dense', { name: 'a/b', units: 1, use_bias: false }),
      layer('Dense', { units: 1, use_bias: false }),
      layer('TimeDistributed', { name: 'each', layer: layer('Dense', { units: 1, use_bias: false }) }),
    ]
    const variables = {
      'dense/vars/0': tensor([1, 1], 1),
      'dense_1/vars/0': tensor([1, 1], 1),
      'dense_2/vars/0': tensor([1, 1], 1),
      'time_distributed/layer/vars/0': tensor([1, 1], 1),
    }
    const sequence = [inputLayer(null, 1), ...layers.slice(1)]
    await withModel(sequence, variables, (model) => {
      expect(model.variables.map(({ name }) => name)).toEqual([
        'mine.1/kernel',
        'mine.1/bias',
        'a.b/kernel',
        'a.b/bias',
        'dense/kernel',
        'dense/bias',
        'each_dense/kernel',
        'each_dense/bias',
      ])
    })
  })

  test('do not clash with the names of layers that are added: a Dense named last_step', async () => {
    const layers = [
      inputLayer(null, 1),
      layer('SimpleRNN', { name: 'plain', units: 1, activation: 'tanh', use_bias: false }),
      layer('Dense', { name: 'last_step', units: 1, use_bias: false }),
    ]
    const variables = {
      'simple_rnn/cell/vars/0': tensor([1, 1], 1),
      'simple_rnn/cell/vars/1': tensor([1, 1], 0),
      'dense/vars/0': tensor([1, 1], 2),
    }
    const { data } = await outputOf(layers, variables, doubles([1, 1, 1], 0.5))
    expect([...data]).toEqual(close([2 * Math.tanh(0.5)]))
  })
})

/** Element k of variable n is 0.5·sin(n + k), as the numbers of Keras below have them. */
const waves = (n: number, ...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => 0.5 * Math.sin(n + k)),
  shape,
})
const lstmOf = (config: Json = {}) =>
  layer('LSTM', { name: 'lstm', units: 2, activation: 'tanh', recurrent_activation: 'sigmoid', ...config })
const lstmAt = (place: string, n: number): Variables => ({
  [`${place}/cell/vars/0`]: waves(n, 2, 8),
  [`${place}/cell/vars/1`]: waves(n + 1, 2, 8),
  [`${place}/cell/vars/2`]: waves(n + 2, 8),
})
const ids = (...rows: readonly (readonly number[])[]) => {
  const [time, batch] = [rows[0].length, rows.length]
  return {
    data: Int32Array.from({ length: time * batch }, (_, k) => rows[k % batch][Math.floor(k / batch)]),
    shape: [time, batch],
  }
}

describe('importKeras masks as Keras does', () => {
  const embedded = layer('Embedding', { input_dim: 5, output_dim: 2, mask_zero: true })
  const variables = { 'embedding/vars/0': waves(0, 5, 2), ...lstmAt('lstm', 1) }
  const close5 = (...values: number[]) => values.map((value) => expect.closeTo(value, 5))

  // By keras 3.15: Embedding(5, 2, mask_zero=True), LSTM(2).
  test.each([[[3, 1, 0, 0]], [[0, 0, 3, 1]], [[0, 3, 0, 1]]])('the row %j, wherever its padding is', async (row) => {
    const { data } = await outputOf([embedded, lstmOf()], variables, ids(row))
    expect([...data]).toEqual(close5(0.10114, 0.14313))
  })

  test('outputs at masked steps at the end repeat the last one; elsewhere they are refused', async () => {
    const layers = [embedded, lstmOf({ return_sequences: true })]
    const { data } = await outputOf(layers, variables, ids([3, 1, 0, 0]))
    expect([...data].slice(2)).toEqual(close5(0.10114, 0.14313, 0.10114, 0.14313, 0.10114, 0.14313))
    for (const row of [
      [0, 0, 3, 1],
      [0, 0, 0, 0],
    ]) {
      await expect(outputOf(layers, variables, ids(row))).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS'))
    }
    const zeros = await outputOf(
      [embedded, lstmOf({ return_sequences: true, zero_output_for_mask: true })],
      variables,
      ids([3, 1, 0, 0]),
    )
    expect([...zeros.data].slice(4)).toEqual([0, 0, 0, 0])
  })

  test('a layer that drops a mask takes masked steps for others, whose outputs are the last one before them', async () => {
    const layers = [embedded, lstmOf({ return_sequences: true }), layer('MaxPooling1D', { pool_size: 2 })]
    const rows = ids([3, 1, 0, 0], [2, 0, 0, 0])
    const { data: steps } = await outputOf(layers.slice(0, 2), variables, rows)
    const { data } = await outputOf(layers, variables, rows)
    const places = Array.from({ length: 8 }, (_, k) => k + 4 * Math.floor(k / 4))
    expect([...data]).toEqual(places.map((k) => Math.max(steps[k]!, steps[k + 4]!)))
  })

  test('a mask ends where the sequence does: RepeatVector begins another one', async () => {
    const layers = [embedded, lstmOf(), layer('RepeatVector', { n: 3 }), lstmOf({ name: 'b', return_sequences: true })]
    const both = { ...variables, ...lstmAt('lstm_1', 3) }
    const { data } = await outputOf(layers, both, ids([3, 1, 0, 0], [2, 0, 0, 0]))
    const whole = [await outputOf(layers, both, ids([3, 1])), await outputOf(layers, both, ids([2]))]
    const columns = [0, 1, 2].flatMap((t) => whole.flatMap((row) => [...row.data.slice(2 * t, 2 * t + 2)]))
    expect([...data]).toEqual(close(columns))
  })

  test('of a functional model, which Keras 3 computes by separate operations', async () => {
    const tensorOf = (name: string) => ({ class_name: '__keras_tensor__', config: { keras_history: [name, 0, 0] } })
    const call = (input: string, kwargs: Json = {}, ...args: unknown[]) => [
      { args: [tensorOf(input), ...args], kwargs },
    ]
    const named = (each: Json, name: string, inbound: unknown[]): Json => ({ ...each, name, inbound_nodes: inbound })
    const functional = (value: number, mask: string) => ({
      class_name: 'Functional',
      config: {
        layers: [
          named(layer('InputLayer', { batch_shape: [null, 4] }), 'ids', []),
          named(embedded, 'embedded', call('ids')),
          named(layer('NotEqual'), 'ne', call('ids', {}, value)),
          named(lstmOf(), 'lstm', call('embedded', { mask: tensorOf(mask) })),
        ],
      },
    })
    const read = (model: object) => withModel([], variables, (m) => m.predict(ids([0, 3, 0, 1])), model as Json)
    expect([...(await read(functional(0, 'ne'))).data]).toEqual(close5(0.10114, 0.14313))
    // Masks of another value, or of something else.
    for (const model of [functional(1, 'ne'), functional(0, 'embedded')]) {
      expect(await refusalOf([], variables, model)).toEqual(coded('ERR_UNKNOWN_LAYER'))
    }
  })

  test('refuses a mask that reaches attention, or a join out of a branch', async () => {
    const attention = layer('MultiHeadAttention', { name: 'attention', num_heads: 1, key_dim: 1 })
    expect(await refusalOf([embedded, attention], variables)).toEqual(
      coded('ERR_UNKNOWN_LAYER', { layer: 'attention (MultiHeadAttention)' }),
    )
    const tensorOf = (name: string) => ({ class_name: '__keras_tensor__', config: { keras_history: [name, 0, 0] } })
    const called = (each: Json, name: string, ...inputs: string[]): Json => ({
      ...each,
      name,
      inbound_nodes: inputs.length === 0 ? [] : [{ args: [inputs.map(tensorOf)], kwargs: {} }],
    })
    const own = { name: 'first', input_dim: 5, output_dim: 2 }
    const branched = [
      called(layer('InputLayer', { batch_shape: [null, 4] }), 'ids'),
      called(layer('Embedding', { ...own, mask_zero: true }), 'first', 'ids'),
      called(layer('Embedding', { ...own, name: 'second' }), 'second', 'ids'),
      called(layer('Add', { name: 'sum' }), 'sum', 'first', 'second'),
      called(lstmOf(), 'lstm', 'sum'),
    ]
    const tables = { 'embedding/vars/0': waves(0, 5, 2), 'embedding_1/vars/0': waves(1, 5, 2), ...lstmAt('lstm', 1) }
    const functional = { class_name: 'Functional', config: { name: 'net', layers: branched } } as Json
    expect(await refusalOf([], tables, functional)).toEqual(coded('ERR_UNKNOWN_LAYER', { layer: 'first (Embedding)' }))
    const plain = JSON.parse(JSON.stringify(functional).replace('"mask_zero":true', '"mask_zero":false')) as Json
    const sum = await withModel([], tables, (model) => model.predict(ids([0, 3, 0, 1])), plain)
    expect(sum.shape).toEqual([1, 2])
    // Keras 2 lists [layer, call, output, options].
    const layers = (plain['config'] as { readonly layers: readonly Json[] }).layers.map((each) => {
      const [call] = each['inbound_nodes'] as readonly { readonly args: readonly [readonly Json[]] }[]
      const sources = call?.args[0].map((value) => [...((value['config'] as Json)['keras_history'] as unknown[]), {}])
      return { ...each, inbound_nodes: sources === undefined ? [] : [sources] }
    })
    const old = { class_name: 'Model', config: { name: 'net', layers, output_layers: [['lstm', 0, 0]] } }
    const again = await withModel([], tables, (model) => model.predict(ids([0, 3, 0, 1])), old)
    expect([...again.data]).toEqual([...sum.data])
  })

  test('Masking hides the steps of its value', async () => {
    const masked = [inputLayer(null, 2), layer('Masking', { mask_value: -1 }), lstmOf()]
    const plain = [inputLayer(null, 2), lstmOf()]
    const own = lstmAt('lstm', 1)
    const { data } = await outputOf(masked, own, doubles([4, 1, 2], -1, -1, 0.1, 0.2, -1, -1, 0.3, 0.4))
    expect([...data]).toEqual(close((await outputOf(plain, own, doubles([2, 1, 2], 0.1, 0.2, 0.3, 0.4))).data))
  })
})

test('importKeras computes an autoencoder, and a functional model that is a chain', async () => {
  // By keras 3.15: the last step of LSTM(2), RepeatVector(3), LSTM(2, return_sequences=True).
  const layers = [
    inputLayer(3, 2),
    lstmOf(),
    layer('RepeatVector', { n: 3 }),
    lstmOf({ name: 'lstm_1', return_sequences: true }),
  ]
  const variables = { ...lstmAt('lstm', 0), ...lstmAt('lstm_1', 3) }
  const x = { data: Float64Array.from(waves(0, 3, 1, 2).data), shape: [3, 1, 2] }
  const { data } = await outputOf(layers, variables, x)
  expect([...data].slice(4)).toEqual([expect.closeTo(0.069594, 5), expect.closeTo(-0.089508, 5)])
  const chain = layers.map((each, index) => {
    const history = { class_name: '__keras_tensor__', config: { keras_history: [`l${index - 1}`, 0, 0] } }
    const inbound = index === 0 ? [] : [{ args: [history], kwargs: { mask: null } }]
    return {
      ...each,
      name: `l${index}`,
      config: { ...(each['config'] as Json), name: `l${index}` },
      inbound_nodes: inbound,
    }
  })
  const functional = { class_name: 'Functional', config: { name: 'net', layers: chain } }
  expect([...(await outputOf(chain, variables, x)).data]).toEqual([...data])
  const same = await withModel(chain, variables, (model) => model.predict(x), functional)
  expect([...same.data]).toEqual([...data])
  const branched = chain.map((each, index) =>
    index === 3 ? { ...each, inbound_nodes: chain[1]['inbound_nodes'] } : each,
  )
  expect(await refusalOf([], variables, { ...functional, config: { name: 'net', layers: branched } })).toEqual(
    coded('ERR_NOT_A_MODEL'),
  )
})

describe.each([true, false])('merge_mode of a Bidirectional with return_sequences=%s', (sequences) => {
  const merged = (mode: string, own: Json = {}) =>
    layer('Bidirectional', { name: 'both', merge_mode: mode, layer: lstmOf({ return_sequences: sequences, ...own }) })
  const side = (name: string, n: number) => lstmAt(`bidirectional/${name}_layer`, n)
  const variables = { ...side('forward', 0), ...side('backward', 3) }
  const x = { data: Float64Array.from(waves(5, 3, 2, 2).data), shape: [3, 2, 2] }

  // A model of cuDNN, and cells.
  test.each([
    ['sum', 'tanh', (a: number, b: number) => a + b],
    ['ave', 'tanh', (a: number, b: number) => (a + b) / 2],
    ['mul', 'tanh', (a: number, b: number) => a * b],
    ['mul', 'relu', (a: number, b: number) => a * b],
  ] as const)('%s of %s', async (mode, activation, merge) => {
    const { data: sides } = await outputOf([inputLayer(null, 2), merged('concat', { activation })], variables, x)
    const { data, shape } = await outputOf([inputLayer(null, 2), merged(mode, { activation })], variables, x)
    expect(shape).toEqual(sequences ? [3, 2, 2] : [2, 2])
    const row = (k: number) => 4 * Math.floor(k / 2) + (k % 2)
    expect([...data]).toEqual([...data].map((_, k) => expect.closeTo(merge(sides[row(k)], sides[row(k) + 2]), 6)))
  })
})

test.each([true, false])('BatchNormalization with scale and center %s computes each column', async (both) => {
  const statistics = [
    [0.5, -1],
    [3, 8],
  ]
  const numbers = both ? [[2, 3], [10, 20], ...statistics] : statistics
  const variables = Object.fromEntries(
    numbers.map((values, k) => [`batch_normalization/vars/${k}`, tensor([2], ...values)]),
  )
  const layers = [inputLayer(2), layer('BatchNormalization', { axis: -1, epsilon: 1, scale: both, center: both })]
  const { data } = await outputOf(layers, variables, doubles([1, 2], 4.5, 5))
  // (x - mean) / √(variance + ε): 4 / 2 and 6 / 3.
  expect([...data]).toEqual(close(both ? [2 * 2 + 10, 3 * 2 + 20] : [2, 2]))
})

describe('importKeras compares the description with the file before it allocates', () => {
  test('a kernel of 2^27 columns, and many layers over one tensor', async () => {
    const wide = layer('Dense', { name: 'wide', units: 2 ** 27, use_bias: false })
    const variables = { 'dense/vars/0': tensor([2, 2], 1, 2, 3, 4) }
    expect(await refusalOf([inputLayer(2), wide], variables)).toEqual(
      coded('ERR_UNKNOWN_LAYER', { layer: 'wide (Dense)' }),
    )
    const twice = Array.from({ length: 400 }, () => layer('Embedding', { name: 'e', input_dim: 3, output_dim: 2 }))
    using backend = openReferenceBackend()
    const file = await encodeKerasArchive(
      { class_name: 'Sequential', config: { layers: twice } },
      new Map([['e/embeddings', tensor([3, 2], 1, 2, 3, 4, 5, 6)]]),
    )
    await expect(importKeras(backend, file)).rejects.toThrow(coded('ERR_UNKNOWN_LAYER', { layer: 'e (Embedding)' }))
  })

  test('20,000 layers', async () => {
    const layers = [
      inputLayer(1),
      ...Array.from({ length: 20_000 }, (_, k) => layer('Dense', { name: `d${k}`, units: 1, use_bias: false })),
    ]
    expect(await refusalOf(layers, { 'dense/vars/0': tensor([1, 1], 1) })).toEqual(
      coded('ERR_UNKNOWN_LAYER', { layer: 'd1 (Dense)' }),
    )
  })
})
