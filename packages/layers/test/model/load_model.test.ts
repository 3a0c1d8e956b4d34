import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { type NumericTensor, Saver, TensorSaveable } from '@cudnn-rnn/saveable'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../../scripts/coded.mjs'
import { loadModel } from '../../src/index.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-load-'))
})
afterEach(() => rm(directory, { recursive: true }))

it.each(['x.onnx', 'x.keras'])('loadModel names the reader of %s', async (path) => {
  using backend = openReferenceBackend()
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
