import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { type NumericTensor, Saver, TensorSaveable } from '@cudnn-rnn/saveable'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { dense, loadModel, sequential } from '../../src/index.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-load-'))
})
afterEach(() => rm(directory, { recursive: true }))

it.each(['x.onnx', 'x.keras', 'x.PT', 'x.json'])('save refuses %s, and loadModel names its reader', async (name) => {
  using backend = openReferenceBackend()
  const path = join(directory, name)
  using model = sequential(backend, [dense({ units: 1 })], { inputSize: 1 })
  await expect(model.save(path)).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  await expect(loadModel(backend, path)).rejects.toThrow(
    coded('ERR_NOT_A_MODEL', { message: expect.stringMatching(/importKeras .*importWeights/) }),
  )
})

const KERNEL = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] }
const BIAS = { data: Float32Array.of(5, 6), shape: [2] }
const DENSE = { kind: 'dense', name: 'd', config: { units: 2 } }
const WHOLE = { format: 1, seed: 0, input: { isSequence: false, features: 2 }, layers: [DENSE] }

/** A checkpoint of a dense layer with this description, or these bytes for one. */
async function saved(description: object | string | undefined): Promise<string> {
  const path = join(directory, 'model')
  const text = typeof description === 'string' ? description : JSON.stringify(description)
  const bytes = new TextEncoder().encode(text)
  const tensors: Record<string, NumericTensor> = {
    'd/kernel': KERNEL,
    'd/bias': BIAS,
    ...(description !== undefined && { model_config: { data: bytes, shape: [bytes.length] } }),
  }
  const saveables = Object.entries(tensors).map(
    ([name, tensor]) =>
      new TensorSaveable(
        name,
        () => tensor,
        () => undefined,
      ),
  )
  await new Saver(saveables, { maxToKeep: 0 }).save(path)
  return path
}

it('loadModel reads a description that another program wrote', async () => {
  using backend = openReferenceBackend()
  using model = await loadModel(backend, await saved(WHOLE))
  expect([...(await model.predict({ data: Float32Array.of(1, 1), shape: [1, 2] })).data]).toEqual([9, 12])
})

it('loadModel reads a model with an unknown loss, to predict', async () => {
  using backend = openReferenceBackend()
  for (const loss of ['focal', { name: 'ctc', blank: 'middle' }, 7, 'ctc']) {
    using model = await loadModel(backend, await saved({ ...WHOLE, loss }))
    expect(model.loss).toBeUndefined()
  }
})

/** A graph of that layer and a sum. */
const graph = (changes: object) => ({
  ...{ ...WHOLE, input: undefined, layers: [DENSE] },
  inputs: [{ name: 'a', signal: { isSequence: false, features: 2 } }],
  nodes: [
    { layer: 0, from: [0, 0] },
    {
      merge: 'add',
      from: [
        [1, 0],
        [0, 0],
      ],
    },
  ],
  outputs: [{ name: 'y', value: [2, 0] }],
  ...changes,
})

it('loadModel reads the description of a graph', async () => {
  using backend = openReferenceBackend()
  using model = await loadModel(backend, await saved(graph({})))
  expect(model.graph.nodes.map(({ name }) => name)).toEqual(['d', 'add'])
})

const deep = (levels: number): object =>
  levels === 0 ? DENSE : { kind: 'concat', config: { branches: [[deep(levels - 1)]] } }

it.each<readonly [string, string, object | string | undefined, RegExp]>([
  ['no description', 'ERR_NOT_A_MODEL', undefined, /has no model_config/],
  ['a description that is not JSON', 'ERR_NOT_A_MODEL', '{', /JSON object/],
  ['a description of another form', 'ERR_NOT_A_MODEL', '[1]', /JSON object/],
  ['another format', 'ERR_NOT_A_MODEL', { ...WHOLE, format: 2 }, /format must be 1: current value is 2/],
  ['no layers', 'ERR_NOT_A_MODEL', { ...WHOLE, layers: undefined }, /incomplete/],
  ['an input without a size', 'ERR_NOT_A_MODEL', { ...WHOLE, input: { isSequence: true } }, /incomplete/],
  [
    'an unknown layer',
    'ERR_UNKNOWN_LAYER',
    { ...WHOLE, layers: [DENSE, { kind: 'conv9d', name: 'eyes' }] },
    /current kind of eyes is "?conv9d/,
  ],
  [
    'a layer with an unknown option',
    'ERR_UNKNOWN_LAYER',
    { ...WHOLE, layers: [{ ...DENSE, config: { units: 2, groups: 2 } }] },
    /layer d cannot be made.*groups/,
  ],
  [
    'a layer of no units',
    'ERR_UNKNOWN_LAYER',
    { ...WHOLE, layers: [{ ...DENSE, config: { units: -1 } }] },
    /layer d cannot be made.*units/,
  ],
  ['a layer that is a number', 'ERR_UNKNOWN_LAYER', { ...WHOLE, layers: [3] }, /must be an object: current value is 3/],
  ['branches that are not a list', 'ERR_UNKNOWN_LAYER', { ...WHOLE, layers: [{ kind: 'concat', config: {} }] }, /list/],
  ['branches without end', 'ERR_UNKNOWN_LAYER', { ...WHOLE, layers: [deep(200)] }, /deep/],
  [
    'a graph without outputs',
    'ERR_NOT_A_MODEL',
    graph({ outputs: [] }),
    /graph.outputs must be an array of at least 1/,
  ],
  [
    'an input of another name',
    'ERR_NOT_A_MODEL',
    graph({ inputs: [{ name: 'a b', signal: { isSequence: false, features: 2 } }] }),
    /graph.inputs\[0\].name must be a name/,
  ],
  ['a node of no kind', 'ERR_NOT_A_MODEL', graph({ nodes: [{ from: [0, 0] }] }), /graph.nodes\[0\]/],
  [
    'a node that reads itself',
    'ERR_NOT_A_MODEL',
    graph({ nodes: [{ layer: 0, from: [1, 0] }] }),
    /have a node 0 that reads earlier ones/,
  ],
  [
    'a node that reads a state of a dense layer',
    'ERR_NOT_A_MODEL',
    graph({
      nodes: [
        { layer: 0, from: [0, 0] },
        { merge: 'add', from: [[1, 1]] },
      ],
    }),
    /have a node 1 that reads earlier ones/,
  ],
  [
    'a product of one value',
    'ERR_NOT_A_MODEL',
    graph({
      nodes: [
        { layer: 0, from: [0, 0] },
        { merge: 'dot', from: [[1, 0]] },
      ],
    }),
    /have a node 1/,
  ],
  ['a layer that is not there', 'ERR_NOT_A_MODEL', graph({ nodes: [{ layer: 1, from: [0, 0] }] }), /have a node 0/],
  [
    'two outputs of one name',
    'ERR_NOT_A_MODEL',
    graph({
      outputs: [
        { name: 'y', value: [2, 0] },
        { name: 'y', value: [1, 0] },
      ],
    }),
    /other names/,
  ],
  ['an output that no node gives', 'ERR_NOT_A_MODEL', graph({ outputs: [{ name: 'y', value: [3, 0] }] }), /values of/],
  ['layers that are not applied', 'ERR_NOT_A_MODEL', graph({ layers: [DENSE, DENSE] }), /apply each/],
  [
    'layers that do not fit, naming both',
    'ERR_LAYERS_DO_NOT_FIT',
    { ...WHOLE, layers: [DENSE, { kind: 'lastStep' }] },
    /lastStep takes \[T,B,E\]: d \(dense\) before it gives \[B,2\]/,
  ],
])('loadModel refuses %s (%s)', async (_, code, description, message) => {
  using backend = openReferenceBackend()
  const loaded = loadModel(backend, await saved(description))
  await expect(loaded).rejects.toThrow(coded(code))
  await expect(loaded).rejects.toThrow(message)
  expect(backend.stats().tensors).toBe(0)
})
