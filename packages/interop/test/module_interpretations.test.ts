import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type ImportOptions, importWeights } from '../src/index.js'
import { fileOf, only, type Shapes } from './interpreted_files.js'

describe('importWeights of the modules of PyTorch', () => {
  const importOf = (shapes: Shapes, options: ImportOptions = {}) => importWeights(fileOf('pytorch', shapes), options)
  const module = (prefix: string, gates: number, suffix = '_l0', inputs = 3): Shapes => ({
    [`${prefix}weight_ih${suffix}`]: [gates * 2, inputs],
    [`${prefix}weight_hh${suffix}`]: [gates * 2, 2],
    [`${prefix}bias_ih${suffix}`]: [gates * 2],
    [`${prefix}bias_hh${suffix}`]: [gates * 2],
  })

  it('names networks by their modules, also where they are the whole file or a cell', async () => {
    const names = async (shapes: Shapes) => (await importOf(shapes)).networks.map(({ name }) => name)
    expect(await names(module('', 4))).toEqual([''])
    expect(await names({ ...module('encoder.rnn.', 3), ...module('cell.', 4, '') })).toEqual(['encoder.rnn', 'cell'])
  })

  it('takes layers and directions from the names', async () => {
    const shapes = {
      ...module('rnn.', 3, '_l0'),
      ...module('rnn.', 3, '_l0_reverse'),
      ...module('rnn.', 3, '_l1', 4),
      ...module('rnn.', 3, '_l1_reverse', 4),
    }
    expect(only((await importOf(shapes)).networks).descriptor).toMatchObject({
      ...{ cellMode: 'gru', numLayers: 2, direction: 'bidirectional', numUnits: 2, inputSize: 3 },
    })
    const { 'rnn.weight_hh_l1': _, ...missing } = shapes
    await expect(importOf(missing)).rejects.toThrow(coded('ERR_MISSING_TENSOR'))
    await expect(importOf({ ...shapes, 'rnn.weight_ih_l1': [6, 5] })).rejects.toThrow(coded('ERR_TENSOR_SHAPE'))
  })

  it('refuses tensors of names that no module of these shapes has', async () => {
    for (const shapes of [
      module('rnn.', 2),
      { 'rnn.weight_ih_l0': [8, 3] },
      { ...module('rnn.', 4), 'rnn.weight_ih_l0': [8, 0] },
      { 'rnn.weight_ih_l1000000': [8, 3], 'rnn.weight_ih_l0': [8, 3], 'rnn.weight_hh_l0': [8, 2] },
    ]) {
      await expect(importOf(shapes)).rejects.toThrow(coded('ERR_WEIGHTS_UNRECOGNIZED'))
    }
  })

  it('takes absent biases as zeros, and notes it', async () => {
    const { networks } = await importOf({ 'rnn.weight_ih_l0': [8, 3], 'rnn.weight_hh_l0': [8, 2] })
    const { canonical, notes } = only(networks)
    expect(notes).toEqual(['Biases are absent and were taken as zeros.'])
    expect(canonical.biases.every(({ data }) => data.every((value) => value === 0))).toBe(true)
  })

  it.each([
    ['weight_norm', ['rnn.weight_hh_l0_g', 'rnn.weight_hh_l0_v']],
    ['pruning', ['rnn.weight_hh_l0_orig', 'rnn.weight_hh_l0_mask']],
    [
      'parametrizations',
      ['rnn.parametrizations.weight_hh_l0.original0', 'rnn.parametrizations.weight_hh_l0.original1'],
    ],
  ])('refuses weights that %s computes, and takes the networks beside them', async (_, parts) => {
    const { 'rnn.weight_hh_l0': __, ...stored } = module('rnn.', 4)
    const shapes = { ...stored, ...Object.fromEntries(parts.map((part) => [part, [8, 2]])), ...module('other.', 4) }
    await expect(importOf(shapes)).rejects.toThrow(coded('ERR_WEIGHTS_OTHER_FUNCTION'))
    const { networks } = await importOf(shapes, { only: ['other'] })
    expect(networks.map(({ name }) => name)).toEqual(['other'])
  })
})

describe('importWeights of the cells of Flax', () => {
  const importOf = (shapes: Shapes, options: ImportOptions = {}) => importWeights(fileOf('flax', shapes), options)
  const gates = (names: string, separator = '/'): Shapes =>
    Object.fromEntries(
      [...names].flatMap((gate) => [
        [`cell${separator}i${gate}${separator}kernel`, [3, 2]],
        [`cell${separator}h${gate}${separator}kernel`, [2, 2]],
        [`cell${separator}h${gate}${separator}bias`, [2]],
      ]),
    )

  it.each(['/', '.'])('recognizes an LSTM by its gates, joined by %s', async (separator) => {
    expect(only((await importOf(gates('ifgo', separator))).networks)).toMatchObject({
      ...{ name: 'cell', convention: 'flax', descriptor: { cellMode: 'lstm', numUnits: 2, inputSize: 3 } },
    })
  })

  it('refuses a cell of which a gate is missing', async () => {
    await expect(importOf(gates('ifo'))).rejects.toThrow(coded('ERR_MISSING_TENSOR'))
  })

  it('leaves layers of other kinds unused', async () => {
    const { networks, unusedTensors } = await importOf({ 'dense/kernel': [3, 2], 'i/kernel': [3, 2], 'h/bias': [2] })
    expect(networks).toEqual([])
    expect(unusedTensors).toHaveLength(3)
  })
})

describe('importWeights of tensors that can be read in two ways', () => {
  const plain = { 'rnn.weight_ih_l0': [2, 3], 'rnn.weight_hh_l0': [2, 2] }

  it('takes a named cell where tensors are contested, and other networks as they are', async () => {
    const shapes = { ...plain, 'gru.weight_ih_l0': [6, 3], 'gru.weight_hh_l0': [6, 2] }
    const { networks } = await importWeights(fileOf('pytorch', shapes), { cellMode: 'rnn_tanh' })
    expect(networks.map(({ descriptor }) => descriptor.cellMode)).toEqual(['rnn_tanh', 'gru'])
  })

  it('shows both interpretations and the option that decides', async () => {
    await expect(importWeights(fileOf('pytorch', plain))).rejects.toThrow(
      coded('ERR_WEIGHTS_AMBIGUOUS', {
        path: 'made',
        decidedBy: ['cellMode'],
        interpretations: [expect.stringContaining('tanh'), expect.stringContaining('relu')],
      }),
    )
  })

  it('refuses a cell that none of the interpretations has', async () => {
    await expect(importWeights(fileOf('pytorch', plain), { cellMode: 'lstm' })).rejects.toThrow(
      coded('ERR_WEIGHTS_AMBIGUOUS'),
    )
  })

  it('refuses a convention that the file does not follow', async () => {
    await expect(importWeights(fileOf('pytorch', plain), { convention: 'keras' })).rejects.toThrow(
      coded('ERR_WEIGHTS_UNRECOGNIZED'),
    )
  })
})
