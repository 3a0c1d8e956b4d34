import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import * as tf from '@tensorflow/tfjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accelerate } from '../src/index.js'
import { apply, BATCH, computedLayers, INPUTS, LAYERS, type LayerOptions, TIME, UNITS } from './compared_layers.js'
import { evaluate, expectClose, randomTensor, randomWeights } from './oracle.js'

const OPTIONS: readonly LayerOptions[] = [
  {},
  { returnSequences: true },
  { returnState: true },
  { returnSequences: true, returnState: true },
  { goBackwards: true, returnSequences: true },
  { goBackwards: true, returnState: true },
  { unroll: true },
  { useBias: false },
]

/** [B,T], rows of: holes, right padding, nothing at all. */
const HOLES = [
  [0, 1, 1, 0, 1],
  [1, 1, 0, 0, 0],
  [0, 0, 0, 0, 0],
]
const PADDING = [
  [1, 1, 1, 1, 1],
  [1, 1, 0, 0, 0],
  [0, 0, 0, 0, 0],
]

const emulator = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
let backends: readonly Backend[]
beforeAll(async () => {
  tf.env().set('PROD', true)
  const cudnn =
    emulator.problem === undefined ? [await openCudnnBackend({ libraryDir: emulator.folder, cacheDir })] : []
  backends = [openReferenceBackend(), openCpuBackend({ threads: 1 }), await openWasmBackend(), ...cudnn]
})
afterAll(() => {
  for (const backend of backends) backend.dispose()
  rmSync(cacheDir, { recursive: true })
})

/** Compares a call with TensorFlow.js's own on every executor. */
function compare<Layer extends tf.layers.Layer>(
  make: () => Layer,
  call: (layer: Layer) => (...inputs: tf.Tensor[]) => tf.Tensor[],
  inputs: readonly tf.Tensor[],
  executors = backends,
): void {
  const layer = make()
  call(layer)(...inputs) // makes the weights
  randomWeights(layer, 1)
  const expected = evaluate(call(layer), inputs, layer)
  for (const backend of executors) {
    using acceleration = accelerate(tf, backend)
    const actual = evaluate(call(layer), inputs, layer)
    expect(acceleration.report()).toMatchObject(
      computedLayers(layer).map(({ name }) => ({ layer: name, computedBy: backend.name, reason: undefined })),
    )
    expectClose(`${backend.name}: output`, actual.outputs, expected.outputs)
    expectClose(`${backend.name}: gradient`, actual.gradients, expected.gradients)
  }
}

/** Compares a layer that begins with states that it is given, and returns its last ones. */
function compareInitialStates(make: (options: LayerOptions) => tf.layers.Layer, x: tf.Tensor, states: tf.Tensor[]) {
  compare(
    () => make({ returnState: true }),
    (layer) =>
      (input, ...initialState) => {
        if (!layer.built) layer.apply(x)
        return [layer.call(input as tf.Tensor, { initialState })].flat()
      },
    [x, ...states],
  )
}

/** Compares two batches, the second of which begins with the states of the first. */
function compareKeptStates(
  make: (options: LayerOptions) => tf.layers.Layer & Pick<tf.RNN, 'resetStates'>,
  x: tf.Tensor,
) {
  compare(
    () => make({ stateful: true, batchInputShape: [BATCH, TIME, INPUTS] }),
    (layer) => (input) => {
      if (layer.built) layer.resetStates()
      return [...apply(layer, input as tf.Tensor), ...apply(layer, (input as tf.Tensor).mul(0.5), { training: true })]
    },
    [x],
  )
}

describe.each(Object.entries(LAYERS))('accelerate: %s computes as TensorFlow.js', (name, make) => {
  const x = randomTensor([BATCH, TIME, INPUTS], 50)

  test.each(OPTIONS)('with %o', (options) => {
    if (name === 'stack' && 'useBias' in options) return
    compare(
      () => make(options),
      (layer) => (input) => apply(layer, input as tf.Tensor),
      [x],
    )
  })

  test.each([
    ['holes', HOLES],
    ['padding', PADDING],
  ])('with a mask of %s', (_, mask) => {
    for (const options of [
      { returnSequences: true, returnState: true },
      { goBackwards: true, returnState: true },
    ]) {
      const given = { mask: tf.tensor2d(mask) }
      compare(
        () => make(options),
        (layer) => (input) => apply(layer, input as tf.Tensor, given),
        [x],
      )
    }
  })

  test('with initial states', () => {
    const sizes = name === 'stack' ? [UNITS, UNITS, UNITS, 7, 7, 5] : name.startsWith('lstm') ? [UNITS, UNITS] : [UNITS]
    const states = sizes.map((size, index) => randomTensor([BATCH, size], 60 + index))
    compareInitialStates(make, x, states)
  })

  test('with states kept from batch to batch', () => compareKeptStates(make, x))
})

const MERGE_MODES = ['concat', 'sum', 'ave', 'mul'] as const

describe.each(['lstm', 'gru', 'simpleRNN'] as const)(
  'accelerate: bidirectional %s computes as TensorFlow.js',
  (name) => {
    const x = randomTensor([BATCH, TIME, INPUTS], 50)
    const make = (options: LayerOptions, mergeMode: (typeof MERGE_MODES)[number] = 'concat') =>
      tf.layers.bidirectional({ layer: LAYERS[name]?.(options) as tf.RNN, mergeMode })

    test.each(MERGE_MODES)('merged by %s, with sequences and final states', (mergeMode) => {
      for (const options of [
        {},
        { returnSequences: true },
        { returnState: true },
        { returnSequences: true, returnState: true },
      ]) {
        compare(
          () => make(options, mergeMode),
          (layer) => (input) => apply(layer, input as tf.Tensor),
          [x],
        )
      }
    })

    test.each([
      ['holes', HOLES],
      ['padding', PADDING],
    ])('with a mask of %s', (_, mask) => {
      for (const options of [{ returnSequences: true }, { returnState: true }]) {
        compare(
          () => make(options),
          (layer) => (input) => apply(layer, input as tf.Tensor, { mask: tf.tensor2d(mask) }),
          [x],
        )
      }
    })

    test('with initial states of both directions', () => {
      const states = Array.from({ length: name === 'lstm' ? 4 : 2 }, (_, k) => randomTensor([BATCH, UNITS], 60 + k))
      compareInitialStates(make, x, states)
    })

    test('with states kept from batch to batch', () => compareKeptStates(make, x))
  },
)
