import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tensor } from '@cudnn-rnn/canonical'
import { BasicRNNCell, CudnnCompatibleGRUCell, GRUBlockCell, LSTMCell } from '@cudnn-rnn/cells'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  activation,
  add,
  attention,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNTanh,
  dense,
  dropout,
  embedding,
  importKeras,
  integer,
  type LayerDefinition,
  lastStep,
  layer,
  layerNorm,
  maxOverTime,
  maxPool1d,
  maxPool2d,
  meanOverTime,
  multiHeadAttention,
  multiply,
  reverse,
  rnn,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { timeSoftmax } from '../src/kinds/attention.js'
import { branching } from '../src/kinds/branch_layer.js'
import { columnScale, columnSlope } from '../src/kinds/column_layers.js'
import { groupNorm } from '../src/kinds/group_norm.js'
import { rearrange } from '../src/kinds/rearrange.js'
import { repeatVector } from '../src/kinds/repeat_vector.js'
import { stepOf, sumOverTime } from '../src/kinds/sequence_pooling.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { averagePool1d, averagePool2d, spreadRows, spreadSteps } from '../src/kinds/step_windows.js'
import { EXPORTED } from './exported_models.js'
import { waves } from './small_data.js'

import fixture from '../../../fixtures/layers/keras_outputs.json'

type Forward = ReturnType<Parameters<typeof layer>[2]>['forward']

const FUNCTIONS = [
  'elu',
  'selu',
  'silu',
  'gelu',
  'mish',
  'softsign',
  'hard_sigmoid',
  'hard_silu',
  'line',
  'exponential',
  'unit',
  'rms',
  'hard_tanh',
  'log_sigmoid',
  'log_softmax',
  'squareplus',
  'sparse_plus',
  'tanh_shrink',
  'soft_shrink',
  'hard_shrink',
] as const

const DOUBLE = { dtype: 'float64' } as const

const gated = layer('gated', { units: integer({ minimum: 1 }) }, ({ units }, { isSequence, features }) => ({
  variables: { gate: [[features, units], 'glorot_uniform'], kernel: [[features, 2 * units], 'glorot_uniform'] },
  output: { isSequence, features: units },
  forward: (t, x, { gate, kernel }) => {
    const [left, right] = t.split(t.matmul(x, kernel), 2)
    return t.multiply(t.activate(t.matmul(x, gate), 'sigmoid'), t.add(left, t.square(right)))
  },
}))

const PICTURES = () => [
  dense({ units: 8 }),
  spreadRows({ height: 4, croppedBefore: 1, repeats: 2, zerosBefore: 1 }),
  averagePool2d({ height: 7, poolSize: [2, 3], strides: [1, 2], padding: 'same' }),
  spreadRows({ height: 4, repeats: 2, isSpaced: true, croppedAfter: 1 }),
  conv2d({ height: 6, filters: 3, kernelSize: [2, 2], activation: 'softmax' }),
  groupNorm({ groups: 3, channels: 3, epsilon: 0.01 }),
  timeDistributed(dense({ units: 2, activation: 'softmax' }), { height: 5 }),
  timeDistributed(stepFunction({ function: 'log_softmax' }), { height: 5 }),
  spreadSteps({ repeats: 3, isSpaced: true, croppedBefore: 1, zerosAfter: 1 }),
]

const SEQUENCES = () => [
  dense({ units: 8 }),
  timeDistributed([cudnnGRU({ numUnits: 2, direction: 'bidirectional' })], { steps: 4 }),
  timeDistributed([reverse(), cudnnLSTM({ numUnits: 3 }), lastStep()], { steps: 8, name: 'time_distributed' }),
  attention({ score: 'concat' }),
]

const FOLDER = join(import.meta.dirname, '../../../fixtures/layers')
const [BATCH, TIME, FEATURES] = [2, 5, 3]

/** The script's inputs, time-major: batch-major there. */
const INPUTS: Readonly<Record<string, Tensor>> = {
  text: {
    data: Int32Array.from({ length: TIME * BATCH }, (_, k) => (((k % BATCH) * TIME + Math.floor(k / BATCH)) * 3) % 7),
    shape: [TIME, BATCH],
  },
  numbers: {
    data: Float32Array.from({ length: TIME * BATCH * FEATURES }, (_, k) => {
      const [t, b, i] = [Math.floor(k / (BATCH * FEATURES)), Math.floor(k / FEATURES) % BATCH, k % FEATURES]
      return waves([BATCH, TIME, FEATURES]).data[(b * TIME + t) * FEATURES + i]
    }),
    shape: [TIME, BATCH, FEATURES],
  },
}

const inputOf = (name: string) => (name === 'text' ? INPUTS['text'] : INPUTS['numbers'])

function decoded(text: string): number[] {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return Array.from(new Float32Array(bytes.buffer))
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 1e-5): void {
  expect(actual.length).toBe(expected.length)
  const worst = Array.from(expected).reduce((most, value, k) => Math.max(most, Math.abs(value - actual[k])), 0)
  expect(worst).toBeLessThan(tolerance)
}

describe('Keras', () => {
  for (const name of ['text', 'numbers', 'windows'] as const) {
    for (const ending of ['keras', 'h5']) {
      test(`importKeras computes what Keras does: keras_${name}.${ending}`, async () => {
        using backend = openReferenceBackend()
        using model = await importKeras(backend, join(FOLDER, `keras_${name}.${ending}`))
        const { data } = await model.predict(inputOf(name))
        expectClose(data, decoded(fixture.imported[name]), 1e-6)
      })
    }

    test(`the export that Keras computed is this one, to 1e-5: ${name}`, async () => {
      using backend = openReferenceBackend()
      using model = EXPORTED[name](backend)
      const bytes = await model.export('keras')
      const path = join(FOLDER, `exported_${name}.keras`)
      // Written again if it was deleted, as input of make_keras.py.
      if (!existsSync(path)) await writeFile(path, bytes)
      using again = await importKeras(backend, bytes)
      using recorded = await importKeras(backend, await readFile(path))
      const outputs = await Promise.all([model, again, recorded].map((each) => each.predict(inputOf(name))))
      const keras = decoded(fixture.exported[name])
      for (const { data } of outputs) expectClose(data, keras)
      expect(again.summary()).toBe(recorded.summary())
    })
  }

  const models: Readonly<Record<string, readonly LayerDefinition[]>> = {
    functions: [
      ...FUNCTIONS.map((each) => stepFunction({ function: each })),
      stepFunction({ function: 'relu', slope: 0.1, threshold: 0.2, maximum: 2 }),
      stepFunction({ function: 'hard_sigmoid', slope: 0.2 }),
      columnSlope({}),
      activation('relu', { maximum: 6 }),
      timeSoftmax({}),
    ],
    forms: [
      conv1d({ filters: 3, kernelSize: 3, padding: 1 }),
      averagePool1d({ poolSize: 2, strides: 1, padding: 'same' }),
      spreadSteps({ croppedBefore: 1, croppedAfter: 1, repeats: 2, zerosBefore: 1, zerosAfter: 2 }),
      rearrange({ from: [9, 3], to: [3, 9], transposed: true }),
      rearrange({ from: [3, 9], to: [27] }),
      repeatVector({ steps: 2 }),
    ],
    pictures: [
      dense({ units: 8 }),
      conv2d({ height: 4, filters: 3, kernelSize: [2, 3], padding: 'same' }),
      columnScale({ channels: 3 }),
      maxPool2d({ height: 4, poolSize: [2, 3], strides: [1, 2], padding: 'same' }),
    ],
    'forms of pictures': PICTURES(),
    'sequences of each step': SEQUENCES(),
    'a sum over time and a step': [concat([sumOverTime({}), stepOf({ step: 2 })])],
    'slopes of each step': [columnSlope({ steps: 5 }), cudnnGRU({ numUnits: 2 })],
    attention: [
      multiHeadAttention({ heads: 2, keySize: 3, valueSize: 2 }),
      multiHeadAttention({ heads: 1, keySize: 2, units: 3, isCausal: true }),
    ],
    branches: [
      concat([[], [dense({ units: 2 }), concat([[], dense({ units: 1 })])]]),
      add([[], dense({ units: 6 })]),
      multiply([dense({ units: 2 }), add([dense({ units: 2 })])]),
      branching('subtract', [[], dense({ units: 1 })], {}),
    ],
    cells: [
      rnn(new LSTMCell(4, { activation: 'relu', ...DOUBLE })),
      rnn(new GRUBlockCell(2, DOUBLE)),
      concat([rnn(new GRUBlockCell(2, DOUBLE)), [reverse(), rnn(new GRUBlockCell(2, DOUBLE)), reverse()]]),
      concat([
        [rnn(new BasicRNNCell(3, { activation: 'elu', ...DOUBLE })), lastStep()],
        [reverse(), rnn(new BasicRNNCell(3, { activation: 'elu', ...DOUBLE })), lastStep()],
      ]),
    ],
    'last steps': [concat([lastStep(), meanOverTime()])],
    'the last step of both directions': [
      cudnnGRU({ numUnits: 2, direction: 'bidirectional' }),
      lastStep({ of: 'sequence' }),
    ],
    'the size of numbers': [stepFunction({ function: 'relu', slope: -1 })],
    backwards: [reverse(), cudnnGRU({ numUnits: 3 }), reverse(), cudnnLSTM({ numUnits: 3 }), lastStep()],
  }
  test.each(Object.entries(models))('the export is read as a model of the same numbers: %s', async (_, layers) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = sequential(backend, layers, { inputSize: 3, seed: 2 })
    using again = await importKeras(backend, await model.export('keras'))
    const { data, shape } = inputOf('numbers')
    const input = { data: Float64Array.from(data), shape }
    const [expected, actual] = await Promise.all([model, again].map((each) => each.predict(input)))
    expect(actual.shape).toEqual(expected.shape)
    expectClose(actual.data, expected.data, 1e-7)
  })

  test('importKeras refuses, naming the layer', async () => {
    using backend = openReferenceBackend()
    using model = EXPORTED.mean(backend)
    const bytes = await model.export('keras')
    const text = Buffer.from(bytes).toString('latin1')
    const changed = (from: string, to: string) => Buffer.from(text.replaceAll(from, to), 'latin1')
    // One byte for another; the checksum in the archive no longer fits, which is found first.
    await expect(importKeras(backend, changed('"Dense"', '"Danse"'))).rejects.toThrow(coded('ERR_WEIGHTS_CORRUPT'))
    await expect(importKeras(backend, join(FOLDER, 'make_keras.py'))).rejects.toThrow(coded('ERR_WEIGHTS_FORMAT'))
    expect(backend.stats().tensors).toBe(model.variables.length)
  })

  test.each<readonly [string, readonly LayerDefinition[]]>([
    ['attentionPooling', [attentionPooling()]],
    ['rnn', [rnn(new LSTMCell(2, { usePeepholes: true }))]],
    ['concat', [concat([attentionPooling(), meanOverTime()])]],
    ['a clip', [cudnnLSTM({ numUnits: 2, cellClip: 1 })]],
    ['an operation in each step', [timeDistributed([lastStep()], { steps: 3 })]],
  ])('export refuses a layer without a counterpart: %s (ERR_NO_EXPORT)', async (_, layers) => {
    using backend = openReferenceBackend()
    using model = sequential(backend, layers, { inputSize: 3 })
    await expect(model.export('keras')).rejects.toThrow(coded('ERR_NO_EXPORT'))
  })

  test('masks are exported where Keras sees the same steps', async () => {
    using backend = openReferenceBackend()
    const masked = (...layers: readonly LayerDefinition[]) =>
      sequential(backend, [embedding({ size: 7, units: 3, maskZero: 'end' }), ...layers], { seed: 4 })
    const gru = () => cudnnGRU({ numUnits: 2 })
    const ids = { data: Int32Array.of(3, 1, 4, 0, 5, 0), shape: [3, 2] }
    const both = concat([gru(), dense({ units: 1 })])
    for (const layers of [[gru(), lastStep()], [gru(), dense({ units: 2 }), gru()], [meanOverTime()], [both]]) {
      using model = masked(...layers)
      using again = await importKeras(backend, await model.export('keras'))
      const [expected, actual] = await Promise.all([model, again].map((each) => each.predict(ids)))
      expectClose(actual.data, expected.data, 1e-6)
    }
    // Keras drops masks before a convolution and a maximum, where lengths count here.
    const dropped = [conv1d({ filters: 2, kernelSize: 2 }), gru(), lastStep()]
    for (const layers of [[gru(), maxOverTime()], [maxOverTime()], dropped, [gru(), timeSoftmax({})]]) {
      using model = masked(...layers)
      await expect(model.export('keras')).rejects.toThrow(coded('ERR_NO_EXPORT', { layer: 'embedding' }))
    }
    using moved = sequential(backend, [embedding({ size: 7, units: 3, maskZero: 'anywhere' }), gru()])
    await expect(moved.export('keras')).rejects.toThrow(coded('ERR_NO_EXPORT', { layer: 'embedding' }))
  })

  test('export accepts its formats only', async () => {
    using backend = openReferenceBackend()
    using model = EXPORTED.mean(backend)
    await expect(model.export('torch' as never)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })
})

describe('ONNX Runtime computes an exported model to 1e-5', () => {
  const more = {
    attention: (backend: Backend) =>
      sequential(
        backend,
        [
          embedding({ size: 7, units: 4, initializer: { uniform: 1 } }),
          cudnnGRU({ numUnits: 3, direction: 'bidirectional' }),
          reverse(),
          concat([[], dense({ units: 2, activation: 'tanh' }), cudnnRNNTanh({ numUnits: 2 })]),
          layerNorm({ epsilon: 1e-5 }),
          dropout({ rate: 0.5 }),
          concat([attentionPooling({ units: 3 }), meanOverTime(), maxOverTime()]),
          dense({ units: 3, activation: 'softmax' }),
        ],
        { seed: 8 },
      ),
    pictures: (backend: Backend) =>
      sequential(
        backend,
        [
          dense({ units: 8 }),
          conv2d({
            height: 4,
            filters: 3,
            kernelSize: [2, 3],
            padding: 'same',
            activation: 'relu',
            biasInitializer: 0.1,
          }),
          maxPool2d({ height: 4, poolSize: [2, 3], strides: [1, 2], padding: 'same' }),
          conv2d({ height: 2, filters: 4, kernelSize: [2, 1], strides: [2, 1] }),
          add([
            [],
            [dense({ units: 8, activation: 'tanh' })],
            multiply([[], dense({ units: 8, activation: 'sigmoid' })]),
          ]),
          maxPool1d({ poolSize: 2, strides: 1 }),
        ],
        { seed: 11, inputSize: 3 },
      ),
    functions: (backend: Backend) =>
      sequential(
        backend,
        [
          ...FUNCTIONS.map((each) => stepFunction({ function: each })),
          stepFunction({ function: 'relu', slope: 0.1, threshold: 0.2, maximum: 2 }),
          gated({ units: 4 }),
          columnScale({ channels: 2 }),
          columnSlope({}),
          multiHeadAttention({ heads: 2, keySize: 3, valueSize: 2 }),
          multiHeadAttention({ heads: 1, keySize: 2, units: 3, isCausal: true }),
          timeSoftmax({}),
          branching('maximum', [[], dense({ units: 1, kernelInitializer: 0.5 })], {}),
        ],
        { seed: 3, inputSize: 3 },
      ),
    forms: (backend: Backend) =>
      sequential(
        backend,
        [
          averagePool1d({ poolSize: 2, strides: 1, padding: 'same' }),
          spreadSteps({ croppedBefore: 1, croppedAfter: 1, repeats: 2, zerosBefore: 1, zerosAfter: 2 }),
          rearrange({ from: [9, 3], to: [3, 9], transposed: true }),
          rearrange({ from: [3, 9], to: [27] }),
          repeatVector({ steps: 2 }),
        ],
        { inputSize: 3 },
      ),
    'forms of pictures': (backend: Backend) => sequential(backend, PICTURES(), { inputSize: 3, seed: 4 }),
    'sequences of each step': (backend: Backend) => sequential(backend, SEQUENCES(), { inputSize: 3, seed: 4 }),
    'a sum over time and a step': (backend: Backend) =>
      sequential(backend, [concat([sumOverTime({}), stepOf({ step: 2 })])], { inputSize: 3 }),
    'slopes of each step': (backend: Backend) => sequential(backend, [columnSlope({ steps: 5 })], { inputSize: 3 }),
    cells: (backend: Backend) =>
      sequential(
        backend,
        [
          rnn(new LSTMCell(4)),
          rnn(new LSTMCell(2, { activation: 'relu', recurrentActivation: 'hard_sigmoid' })),
          rnn(new GRUBlockCell(2)),
          rnn(new CudnnCompatibleGRUCell(3, { activation: 'softsign' })),
          reverse(),
          rnn(new BasicRNNCell(3, { activation: 'elu' })),
        ],
        { seed: 12, inputSize: 3 },
      ),
    last: (backend: Backend) =>
      sequential(backend, [cudnnGRU({ numUnits: 4, direction: 'bidirectional' }), lastStep({ of: 'sequence' })], {
        seed: 9,
        inputSize: 3,
      }),
    states: (backend: Backend) =>
      sequential(backend, [cudnnLSTM({ numUnits: 4, direction: 'bidirectional' }), lastStep()], {
        seed: 9,
        inputSize: 3,
      }),
  }
  for (const [name, make] of Object.entries({ ...EXPORTED, ...more })) {
    test(name, async () => {
      using backend = openReferenceBackend()
      using model = make(backend)
      const input = model.input.features === null ? INPUTS['text'] : INPUTS['numbers']
      const expected = await model.predict(input)
      const ort = await import('onnxruntime-node')
      const session = await ort.InferenceSession.create(await model.export('onnx'))
      const feed =
        model.input.features === null
          ? { ids: new ort.Tensor('int64', BigInt64Array.from(input.data, BigInt), [...input.shape]) }
          : { input: new ort.Tensor('float32', input.data as Float32Array, [...input.shape]) }
      const { output } = await session.run(feed)
      expect(output.dims).toEqual(expected.shape)
      expectClose(output.data as Float32Array, expected.data)
      await session.release()
    })
  }

  test('export refuses a layer whose forward reads the numbers of a batch, or its sizes (ERR_NO_EXPORT)', async () => {
    using backend = openReferenceBackend()
    const forwards: readonly Forward[] = [
      async (t, x) => t.multiply(x, (await x.read()).data[0]),
      (t, x) => t.multiply(x, x.shape[0]),
      (t, x) => t.multiply(x, { data: new Float32Array(x.shape[1] * 3).fill(2), shape: [x.shape[1], 3] }),
    ]
    for (const forward of forwards) {
      const own = layer('own', {}, (_, input) => ({ output: input, forward }))
      using model = sequential(backend, [own({})], { inputSize: 3 })
      await expect(model.export('onnx')).rejects.toThrow(coded('ERR_NO_EXPORT'))
    }
    expect(backend.stats().tensors).toBe(0)
  })

  test('export refuses a cell and a clip (ERR_NO_EXPORT)', async () => {
    using backend = openReferenceBackend()
    for (const layer of [rnn(new LSTMCell(2, { usePeepholes: true })), cudnnLSTM({ numUnits: 2, cellClip: 1 })]) {
      using model = sequential(backend, [layer], { inputSize: 3 })
      await expect(model.export('onnx')).rejects.toThrow(coded('ERR_NO_EXPORT'))
    }
  })
})
