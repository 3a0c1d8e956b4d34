import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeCheckpoint, writeCheckpointState } from '@cudnn-rnn/checkpoint'
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

it('importWeights lists optimizer slots and other variables', async () => {
  const { leftovers } = await importWeights(fixturePath('tensorflow/basic_lstm'))
  expect(leftovers.map(({ name }) => name)).toEqual([
    'dense/kernel',
    'global_step',
    'rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel/Adam',
  ])
})

it('importWeights says that a forget bias was added, and adds another on demand', async () => {
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
