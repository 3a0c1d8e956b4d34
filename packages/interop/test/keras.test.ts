import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { encodeKerasArchive, importWeights, openWeightFile, stackNetworks } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, fixturePath, type Numbers } from './fixture.js'
import { runCell } from './run_cell.js'

// Made by fixtures/interop/make_keras.py.
const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('keras/expected.json')

const FILES = [
  ['gru.weights.h5', 'keras'],
  ['gru.legacy.h5', 'keras'],
  ['gru.keras', 'keras'],
  ['bidirectional_lstm.weights.h5', 'keras'],
  ['bidirectional_lstm.legacy.h5', 'keras'],
  ['bidirectional_lstm.keras', 'keras'],
  ['simple_rnn.legacy.h5', 'keras'],
  ['simple_rnn_relu.keras', 'keras'],
  ['cudnn_lstm.h5', 'keras-cudnn'],
  ['cudnn_gru.h5', 'keras-cudnn'],
] as const

describe.each(FILES)('importWeights of %s', (file, convention) => {
  it('gives a network that computes the same', async () => {
    const { networks, unusedTensors } = await importWeights(fixturePath(`keras/${file}`))
    const { input, output } = cases[file.split('.')[0]!]!
    expect(networks).toHaveLength(1)
    expect(networks[0]!.convention).toBe(convention)
    expect(unusedTensors.map(({ name }) => name).filter((name) => !/optimizer/.test(name))).toEqual([])
    expectClose((await compute(networks[0]!, input)).output, output)
  })
})

describe.each(['weights.h5', 'legacy.h5', 'keras'])('importWeights of lstm_stacked.%s', (kind) => {
  it('gives one network for each layer, which stackNetworks puts together', async () => {
    const { networks } = await importWeights(fixtureBytes(`keras/lstm_stacked.${kind}`))
    expect(networks.map(({ name }) => name)).toEqual(['first', 'second'])
    const { input, output } = cases['lstm_stacked']!
    expectClose((await compute(stackNetworks(networks), input)).output, output)
  })
})

/** Exchanges two neighbors in a list of texts of an HDF5 file: references, each a length, an address and a number. */
function withExchanged(bytes: Uint8Array, one: string, next: string): Uint8Array {
  const copy = Buffer.from(bytes)
  const isAt = (k: number) =>
    copy.readUInt32LE(k) === one.length &&
    copy.readUInt32LE(k + 16) === next.length &&
    copy.readBigUInt64LE(k + 4) > 0n &&
    copy.readBigUInt64LE(k + 4) === copy.readBigUInt64LE(k + 20)
  let at = 0
  while (!isAt(at)) at++
  copy.set([...bytes.subarray(at + 16, at + 32), ...bytes.subarray(at, at + 16)], at)
  return copy
}

const CELL = 'net/first/lstm_cell'
const SIDES = 'net/bidirectional'

it.each([
  ['layers', 'lstm_stacked', 'first', 'second'],
  ['weights', 'lstm_stacked', `${CELL}/kernel`, `${CELL}/recurrent_kernel`],
  ['weights', 'bidirectional_lstm', `${SIDES}/forward_lstm/lstm_cell/bias`, `${SIDES}/backward_lstm/lstm_cell/kernel`],
])('importWeights refuses an older file that lists its %s in another order than %s', async (kind, file, one, next) => {
  const refusal = { code: 'ERR_WEIGHTS_UNSUPPORTED', message: expect.stringContaining(`the order of its ${kind}`) }
  const bytes = withExchanged(fixtureBytes(`keras/${file}.legacy.h5`), one, next)
  await expect(importWeights(bytes)).rejects.toThrow(expect.objectContaining(refusal))
})

it('importWeights notes the unspecified details of a file of weights alone', async () => {
  const open = await importWeights(fixtureBytes('keras/lstm_stacked.weights.h5'))
  expect(open.networks[0]!.notes).toEqual([expect.stringContaining('hard_sigmoid')])
  const described = await importWeights(fixtureBytes('keras/lstm_stacked.keras'))
  expect(described.networks[0]!.notes).toEqual([])
})

it('importWeights keeps that a layer reads backwards', async () => {
  const { networks } = await importWeights(fixtureBytes('keras/gru_backwards.keras'))
  expect(networks[0]!.reverse).toBe(true)
})

it.each(['weights.h5', 'keras'])('importWeights gives gru_reset_before.%s to GRUBlockCell', async (kind) => {
  const { cells, networks } = await importWeights(fixtureBytes(`keras/gru_reset_before.${kind}`))
  expect(networks).toEqual([])
  expect(cells).toMatchObject([{ name: 'gru', cell: 'GRUBlockCell' }])
  const { input, output } = cases['gru_reset_before']!
  expectClose(runCell(cells[0]!, input).output, output)
})

it('importWeights takes the networks that are named, beside one that is refused', async () => {
  const bytes = fixtureBytes('keras/lstm_stacked.keras')
  const { networks } = await importWeights(bytes, { only: ['second'] })
  expect(networks.map(({ name }) => name)).toEqual(['second'])
  await expect(importWeights(bytes, { only: ['third'] })).rejects.toMatchObject({ code: 'ERR_WEIGHTS_NOT_FOUND' })
})

it('openWeightFile names element types as NumPy does', async () => {
  const file = await openWeightFile(fixtureBytes('keras/lstm_stacked.keras'))
  expect(new Set(file.tensors.map(({ dtype }) => dtype))).toEqual(new Set(['float32']))
  await file.close()
})

it('importWeights gives a layer of hard_sigmoid to a cell, with the slope of the version that wrote the file', async () => {
  const { cells } = await importWeights(fixtureBytes('keras/lstm_hard_sigmoid.keras'))
  const recurrentActivation = { name: 'hard_sigmoid', alpha: 1 / 6 }
  expect(cells).toMatchObject([{ cell: 'LSTMCell', options: { recurrentActivation } }])
  const { input, output } = cases['lstm_hard_sigmoid']!
  expectClose(runCell(cells[0]!, input).output, output)
})

it.each([
  ['3', 'gru.legacy.h5'],
  [undefined, 'cudnn_gru.h5'],
])('openWeightFile finds that version %s of Keras wrote %s, whose version is lost', async (version, name) => {
  const text = Buffer.from(fixtureBytes(`keras/${name}`)).toString('latin1')
  const bytes = Buffer.from(text.replaceAll('keras_version', 'keras_versiox'), 'latin1')
  await using file = await openWeightFile(new Uint8Array(bytes))
  expect(file.kerasVersion).toBe(version)
})

it('importWeights requires the cell of a SimpleRNN without description', async () => {
  const bytes = fixtureBytes('keras/simple_rnn.weights.h5')
  await expect(importWeights(bytes)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_AMBIGUOUS' })
  const { networks } = await importWeights(bytes, { cellMode: 'rnn_tanh' })
  const { input, output } = cases['simple_rnn']!
  expectClose((await compute(networks[0]!, input)).output, output)
})

it.each(['/', '\\'])('importWeights reads the layout of TensorFlow 2.12, with %s between names', async (separator) => {
  await using file = await openWeightFile(fixtureBytes('keras/lstm_stacked.keras'))
  const variables = new Map<string, Tensor<FloatArray>>()
  for (const { name, shape, read } of file.tensors.filter(({ name }) => name.startsWith('layers/'))) {
    // Layers of one class are counted by twos.
    const [, layer = '', rest = ''] = /^layers\/([^/]+)\/(.*)$/.exec(name) ?? []
    const older = `_layer_checkpoint_dependencies${separator}${layer.replace(/_1$/, '_2')}/${rest}`
    variables.set(older, { data: await read(), shape })
  }
  const { networks } = await importWeights(await encodeKerasArchive(file.kerasModel as object, variables))
  const expected = await importWeights(fixtureBytes('keras/lstm_stacked.keras'))
  expect(networks.map(({ name, canonical }) => [name, canonical])).toEqual(
    expected.networks.map(({ name, canonical }) => [name, canonical]),
  )
})

it('importWeights refuses a described cell with a variable more', async () => {
  await using file = await openWeightFile(fixtureBytes('keras/lstm_stacked.keras'))
  const variables = new Map<string, Tensor<FloatArray>>()
  for (const { name, shape, read } of file.tensors) variables.set(name, { data: await read(), shape })
  const bias = [...variables].find(([name]) => name.endsWith('cell/vars/2')) as [string, Tensor<FloatArray>]
  variables.set(bias[0].replace(/2$/, '3'), bias[1])
  const more = importWeights(await encodeKerasArchive(file.kerasModel as object, variables))
  await expect(more).rejects.toThrow(/a cell must have 3 variables: there is .*cell\/vars\/3/)
})
