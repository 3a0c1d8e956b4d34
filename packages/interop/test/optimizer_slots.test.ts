import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { importWeights, type WeightFile, type WeightFormat } from '../src/index.js'

/** A file of zeros. */
function fileOf(format: WeightFormat, shapes: Readonly<Record<string, readonly number[]>>): WeightFile {
  const tensors = Object.entries(shapes).map(([name, shape]) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => new Float32Array(elementCount(shape)),
  }))
  return { format, path: 'made', tensors, close: async () => undefined }
}

/** The same tensors under the names of optimizer slots. */
function slotted(
  shapes: Readonly<Record<string, readonly number[]>>,
  slotNames: (name: string) => readonly string[],
): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(
    Object.entries(shapes).flatMap(([name, shape]) => slotNames(name).map((slot) => [slot, shape] as const)),
  )
}

const SAVED = {
  'lstm/layer_0/forward/weight_0': [4, 3],
  ...Object.fromEntries(Array.from({ length: 3 }, (_, k) => [`lstm/layer_0/forward/weight_${k + 1}`, [4, 3]])),
  ...Object.fromEntries(Array.from({ length: 4 }, (_, k) => [`lstm/layer_0/forward/weight_${k + 4}`, [4, 4]])),
  ...Object.fromEntries(Array.from({ length: 8 }, (_, k) => [`lstm/layer_0/forward/bias_${k}`, [4]])),
}
const CELL = { 'rnn/lstm_cell/kernel': [7, 16], 'rnn/lstm_cell/bias': [16] }
const TORCH = {
  'rnn.weight_ih_l0': [16, 3],
  'rnn.weight_hh_l0': [16, 4],
  'rnn.bias_ih_l0': [16],
  'rnn.bias_hh_l0': [16],
}
const FLAX = Object.fromEntries(
  ['i', 'f', 'g', 'o'].flatMap((gate) => [
    [`params/lstm/i${gate}/kernel`, [3, 4]],
    [`params/lstm/h${gate}/kernel`, [4, 4]],
    [`params/lstm/h${gate}/bias`, [4]],
  ]),
)
const KERAS = {
  'model_weights/lstm/lstm/lstm_cell/kernel': [3, 16],
  'model_weights/lstm/lstm/lstm_cell/recurrent_kernel': [4, 16],
  'model_weights/lstm/lstm/lstm_cell/bias': [16],
}

/** A slot of this project's checkpoints: `lstm/Adam/layer_0/…`. */
const within = (slot: string) => (name: string) => name.replace('lstm/', `lstm/${slot}/`)
const after = (slot: string) => (name: string) => `${name}/${slot}`
const each = (...names: ((name: string) => string)[]) => {
  return (name: string) => names.map((slot) => slot(name))
}

const CASES: readonly (readonly [
  string,
  WeightFormat,
  Readonly<Record<string, readonly number[]>>,
  (name: string) => readonly string[],
])[] = [
  ['our Adam', 'tensorflow', SAVED, each(within('Adam'), within('Adam_1'))],
  ['our SGD with momentum', 'tensorflow', SAVED, each(within('Momentum'))],
  ['our RMSProp', 'tensorflow', SAVED, each(within('RMSProp'), within('RMSProp_1'))],
  ['our Adagrad', 'tensorflow', SAVED, each(within('Adagrad'))],
  ['TensorFlow 1’s Adam', 'tensorflow', CELL, each(after('Adam'), after('Adam_1'))],
  ['TensorFlow 1’s Adam in a scope', 'tensorflow', CELL, each((name) => `train/${name}/Adam`)],
  ['TensorFlow 1’s Adam of another name', 'tensorflow', CELL, each((name) => `a/b/${name}/Mine_1`)],
  ['TensorFlow 1’s RMSProp', 'tensorflow', CELL, each(after('RMSProp'), after('RMSProp_1'), after('RMSProp_2'))],
  ['TensorFlow 1’s Ftrl', 'tensorflow', CELL, each(after('Ftrl'), after('Ftrl_1'))],
  [
    'TensorFlow 2’s objects',
    'tensorflow',
    CELL,
    each(
      (name) => `layer/${name}/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE`,
      (name) => `optimizer/_variables/${name}/.ATTRIBUTES/VARIABLE_VALUE`,
    ),
  ],
  [
    'torch.optim',
    'pytorch',
    TORCH,
    each(
      (name) => `optimizer.state.${Object.keys(TORCH).indexOf(name)}.exp_avg`,
      (name) => `optim.state.${name}.momentum_buffer`,
    ),
  ],
  [
    'torch.optim, as trees, and gradients',
    'pytorch',
    TORCH,
    each(
      (name) => `exp_avg.${name}`,
      (name) => `optimizer.exp_avg_sq.${name}`,
      (name) => `${name}.grad`,
      (name) => `grads.${name}`,
      (name) => `trainer.optimizer_state.m.${name}`,
    ),
  ],
  [
    'optax',
    'flax',
    FLAX,
    each(
      (name) => name.replace('params/', 'opt_state/0/mu/'),
      (name) => name.replace('params/', 'opt_state/0/nu/'),
      (name) => name.replace('params/', 'gradients/'),
    ),
  ],
  [
    'Keras 2',
    'keras-h5',
    KERAS,
    each(
      (name) => name.replace('model_weights/lstm', 'optimizer_weights/Adam/m'),
      (name) => name.replace('model_weights/lstm', 'optimizer_weights/training/Adam/v'),
    ),
  ],
]

describe.each(CASES)('importWeights of the slots of %s', (_, format, weights, slotNames) => {
  it('lists it apart, in any order', async () => {
    const slots = slotted(weights, slotNames)
    for (const all of [
      { ...slots, ...weights },
      { ...weights, ...slots },
    ]) {
      const { networks, optimizer, unusedTensors } = await importWeights(fileOf(format, all))
      expect(networks).toHaveLength(1)
      expect(networks[0]!.tensorNames.toSorted()).toEqual(Object.keys(weights).sort())
      expect(optimizer.map(({ name }) => name).sort()).toEqual(Object.keys(slots).sort())
      expect(unusedTensors).toEqual([])
    }
  })

  const isUnknown = slotNames('rnn/lstm_cell/kernel').some((name) => name.includes('Mine'))
  it.skipIf(isUnknown)('makes no network of it where the weights are missing', async () => {
    const { networks, cells } = await importWeights(fileOf(format, slotted(weights, slotNames)))
    expect([...networks, ...cells]).toEqual([])
  })
})

it('importWeights detects modules whose names resemble slots', async () => {
  const modules = Object.fromEntries(
    ['state.0', 'optimizer.rnn', 'momentum'].flatMap((prefix) =>
      Object.entries(TORCH).map(([name, shape]) => [name.replace('rnn', prefix), shape] as const),
    ),
  )
  const { networks, optimizer } = await importWeights(fileOf('safetensors', modules))
  expect(networks.map(({ name }) => name)).toEqual(['state.0', 'optimizer.rnn', 'momentum'])
  expect(optimizer).toEqual([])
})
