import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CanonicalParams, RnnDescriptor } from '@cudnn-rnn/canonical'
import { writeCheckpoint, writeCheckpointState } from '@cudnn-rnn/checkpoint'
import { convertCheckpoint, type StorageForm } from '@cudnn-rnn/saveable'
import { describe, expect, it, onTestFinished } from 'vitest'
import { importWeights } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, fixturePath, type Numbers } from './fixture.js'
import { runCell } from './run_cell.js'

// Made by fixtures/interop/make_tensorflow.py.
const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('tensorflow/expected.json')

const NETWORKS = [
  ['basic_lstm', 'rnn/multi_rnn_cell'],
  ['lstm_cell_old_names', 'rnn/lstm_cell'],
  ['bidirectional', 'bidirectional_rnn'],
  ['cudnn_compatible', 'encoder/rnn/multi_rnn_cell'],
] as const

describe.each(NETWORKS)('importWeights of the checkpoint %s', (name, network) => {
  it('gives a network that computes the same, forget bias included', async () => {
    const { format, networks } = await importWeights(fixturePath(`tensorflow/${name}`))
    expect(format).toBe('tensorflow')
    expect(networks.map((found) => found.name)).toEqual([network])
    const { input, output } = cases[name]!
    expectClose((await compute(networks[0]!, input)).output, output)
  })
})

it('importWeights lists optimizer slots apart from other variables', async () => {
  const { unusedTensors, optimizer } = await importWeights(fixturePath('tensorflow/basic_lstm'))
  expect(unusedTensors.map(({ name }) => name)).toEqual(['dense/kernel', 'global_step'])
  expect(optimizer.map(({ name }) => name)).toEqual(['rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel/Adam'])
})

it('importWeights states that a forget bias was added, and adds another on demand', async () => {
  const { networks } = await importWeights(fixturePath('tensorflow/basic_lstm'))
  expect(networks[0]!.notes).toEqual([expect.stringContaining('1 was added')])
  const none = await importWeights(fixturePath('tensorflow/basic_lstm'), { forgetBias: 0 })
  const forget = 1
  const difference =
    networks[0]!.canonical.biases[forget]!.data[0]! - none.networks[0]!.canonical.biases[forget]!.data[0]!
  expect(difference).toBeCloseTo(0.5, 6)
})

it.each(['peepholes', 'gru_cell'])('importWeights gives the cells of %s to block cells', async (name) => {
  const { cells, networks } = await importWeights(fixturePath(`tensorflow/${name}`))
  expect(networks).toEqual([])
  const { input, output } = cases[name]!
  expectClose(runCell(cells[0]!, input).output, output)
})

it('importWeights takes the latest checkpoint of a directory, under the keys that saveables write', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const { networks } = await importWeights(fixtureBytes('pytorch/gru.safetensors'))
  const { weights, biases } = networks[0]!.canonical
  const place = (kind: string) => (tensor: (typeof weights)[number], index: number) =>
    [`encoder/layer_${Math.floor(index / 6)}/forward/${kind}_${index % 6}`, tensor] as const
  await writeCheckpoint(join(directory, 'model-7'), [...weights.map(place('weight')), ...biases.map(place('bias'))])
  await writeCheckpointState(directory, {
    modelCheckpointPath: 'model-7',
    allModelCheckpointPaths: ['model-7'],
    allModelCheckpointTimestamps: [],
    lastPreservedTimestamp: undefined,
  })
  const imported = await importWeights(directory)
  expect(imported.networks[0]!.descriptor).toEqual(networks[0]!.descriptor)
  expect(imported.networks[0]!.canonical).toEqual(networks[0]!.canonical)
})

/** A checkpoint of a network of PyTorch under the keys that saveables wrote in one of TensorFlow's releases. */
async function savedAs(to: Exclude<StorageForm, 'opaque'>, fixture: string, name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const { networks } = await importWeights(fixtureBytes(`pytorch/${fixture}.safetensors`))
  const { canonical, descriptor } = networks[0]!
  const perLayer = (list: CanonicalParams['weights']) => list.length / pseudoLayers(descriptor)
  const keyed = (['weight', 'bias'] as const).flatMap((kind) => {
    const list = canonical[kind === 'weight' ? 'weights' : 'biases']
    return list.map((tensor, index) => {
      const [pseudoLayer, k] = [Math.floor(index / perLayer(list)), index % perLayer(list)]
      const both = descriptor.direction === 'bidirectional'
      const side = both && pseudoLayer % 2 === 1 ? 'backward' : 'forward'
      return [`${name}/layer_${both ? Math.floor(pseudoLayer / 2) : pseudoLayer}/${side}/${kind}_${k}`, tensor] as const
    })
  })
  const sorted = keyed.sort(([a], [b]) => (a < b ? -1 : 1))
  await writeCheckpoint(join(directory, 'ours'), sorted as Parameters<typeof writeCheckpoint>[1])
  await convertCheckpoint(join(directory, 'ours'), join(directory, to), { to })
  return join(directory, to)
}

function pseudoLayers({ numLayers, direction }: RnnDescriptor): number {
  return numLayers * (direction === 'bidirectional' ? 2 : 1)
}

describe.each(['tf-1.2', 'tf-1.3'] as const)('importWeights of the keys of saveables of %s', (form) => {
  it.each(['gru', 'lstm_projection', 'lstm_2_layers_bidirectional'])(
    'brings %s back bit for bit, both biases of a gate included',
    async (fixture) => {
      const expected = (await importWeights(fixtureBytes(`pytorch/${fixture}.safetensors`))).networks[0]!
      const { networks, unusedTensors } = await importWeights(await savedAs(form, fixture, 'encoder'))
      expect(unusedTensors).toEqual([])
      expect(networks).toHaveLength(1)
      expect(networks[0]).toMatchObject({ name: 'encoder', convention: 'tensorflow', descriptor: expected.descriptor })
      expect(networks[0]!.canonical).toEqual(expected.canonical)
    },
  )
})

it('importWeights shows both interpretations where keys of TensorFlow 1.2 are of two layers or of two directions', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  // Weights of two pseudo-layers that read 4 values each, then the biases.
  const square = { data: new Float32Array(16), shape: [4, 4] }
  const bias = { data: new Float32Array(4), shape: [4] }
  const tensors = [...Array.from({ length: 12 }, () => square), ...Array.from({ length: 12 }, () => bias)]
  const keyed = tensors.map((tensor, index) => [`CudnnRNNParamsToCanonical:${index}`, tensor] as const)
  const prefix = join(directory, 'old')
  await writeCheckpoint(
    prefix,
    keyed.sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  await expect(importWeights(prefix, { cellMode: 'gru' })).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_AMBIGUOUS',
    message: expect.stringContaining('by the option direction'),
    interpretations: [
      expect.stringContaining('2 × 4 units, input 4, keys of tf-1.2'),
      expect.stringContaining('1 × 4 units, input 4, bidirectional, keys of tf-1.2'),
    ],
  })
  const { networks } = await importWeights(prefix, { cellMode: 'gru', direction: 'bidirectional' })
  expect(networks.map(({ descriptor }) => [descriptor.numLayers, descriptor.direction])).toEqual([[1, 'bidirectional']])
})

it('importWeights refuses a SavedModel directory and names the calls that write its weights', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await writeFile(join(directory, 'saved_model.pb'), '')
  await expect(importWeights(directory)).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_UNSUPPORTED',
    message: expect.stringContaining("model.save_weights('model.weights.h5')"),
  })
})

it.each([
  ['is cut', Uint8Array.of(0x0a, 0x05, 0x0a), 'ERR_WEIGHTS_CORRUPT'],
  [
    'has more objects than any model',
    Uint8Array.from({ length: 2 ** 19 }, (_, k) => (k % 2 === 0 ? 0x0a : 0)),
    'ERR_WEIGHTS_UNSUPPORTED',
  ],
])('importWeights refuses a checkpoint whose object graph %s', async (_, graph, code) => {
  const directory = await mkdtemp(join(tmpdir(), 'interop-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const tensors = [['_CHECKPOINTABLE_OBJECT_GRAPH', { data: [graph], shape: [] }]] as const
  await writeCheckpoint(join(directory, 'objects'), tensors)
  await expect(importWeights(join(directory, 'objects'))).rejects.toMatchObject({ code })
})
