import { BasicRNNCell, CudnnCompatibleGRUCell, GRUBlockCell, LSTMCell } from '@cudnn-rnn/cells'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  add,
  attentionPooling,
  concat,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNTanh,
  dense,
  dropout,
  embedding,
  integer,
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
} from '../src/index.js'
import { timeSoftmax } from '../src/kinds/attention.js'
import { branching } from '../src/kinds/branch_layer.js'
import { columnScale, columnSlope } from '../src/kinds/column_layers.js'
import { rearrange } from '../src/kinds/rearrange.js'
import { repeatVector } from '../src/kinds/repeat_vector.js'
import { stepOf, sumOverTime } from '../src/kinds/sequence_pooling.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { averagePool1d, spreadSteps } from '../src/kinds/step_windows.js'
import { expectClose, FUNCTIONS, INPUTS, PICTURES, SEQUENCES } from './exported_layers.js'
import { EXPORTED } from './exported_models.js'

type Forward = ReturnType<Parameters<typeof layer>[2]>['forward']

const gated = layer('gated', { units: integer({ minimum: 1 }) }, ({ units }, { isSequence, features }) => ({
  variables: { gate: [[features, units], 'glorot_uniform'], kernel: [[features, 2 * units], 'glorot_uniform'] },
  output: { isSequence, features: units },
  forward: (t, x, { gate, kernel }) => {
    const [left, right] = t.split(t.matmul(x, kernel), 2)
    return t.multiply(t.activate(t.matmul(x, gate), 'sigmoid'), t.add(left, t.square(right)))
  },
}))

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
          rearrange({ from: [9, 3], to: [3, 9], order: [2, 1] }),
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
