import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import * as tf from '@tensorflow/tfjs'
import { describe, test } from 'vitest'
import { usesExecutors } from './compared_executors.js'
import { apply, BATCH, INPUTS, LAYERS, type LayerOptions, TIME, UNITS } from './compared_layers.js'
import { randomTensor } from './oracle.js'

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
const { compare } = usesExecutors(emulator)

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
