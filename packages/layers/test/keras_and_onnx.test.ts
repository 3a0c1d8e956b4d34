import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BasicRNNCell, GRUBlockCell, LSTMCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import fixture from '../../../fixtures/layers/keras_outputs.json'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  activation,
  add,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  importKeras,
  type LayerDefinition,
  lastStep,
  maxOverTime,
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
import { rearrange } from '../src/kinds/rearrange.js'
import { repeatVector } from '../src/kinds/repeat_vector.js'
import { stepOf, sumOverTime } from '../src/kinds/sequence_pooling.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { averagePool1d, spreadSteps } from '../src/kinds/step_windows.js'
import { expectClose, FUNCTIONS, INPUTS, PICTURES, SEQUENCES } from './exported_layers.js'
import { EXPORTED } from './exported_models.js'

const DOUBLE = { dtype: 'float64' } as const

const FOLDER = join(import.meta.dirname, '../../../fixtures/layers')

const inputOf = (name: string) => (name === 'text' ? INPUTS['text'] : INPUTS['numbers'])

function decoded(text: string): number[] {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return Array.from(new Float32Array(bytes.buffer))
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
      rearrange({ from: [9, 3], to: [3, 9], order: [2, 1] }),
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
