import { LSTMCell } from '@cudnn-rnn/cells'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  activation,
  add,
  attention,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNRelu,
  cudnnRNNTanh,
  dense,
  dropout,
  embedding,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxOverTime,
  maxPool1d,
  maxPool2d,
  meanOverTime,
  multiHeadAttention,
  multiply,
  reverse,
  rnn,
  timeDistributed,
} from '../src/index.js'
import { columnScale, columnSlope } from '../src/kinds/column_layers.js'
import { convLstm } from '../src/kinds/conv_lstm.js'
import { dotProduct } from '../src/kinds/dot_product.js'
import { groupNorm } from '../src/kinds/group_norm.js'
import { joinColumns, joinSteps } from '../src/kinds/join_steps.js'
import { everyStep } from '../src/kinds/masking.js'
import { timeSoftmax } from '../src/kinds/attention.js'
import { rearrange } from '../src/kinds/rearrange.js'
import { stepFunction } from '../src/kinds/step_function.js'
import { stepOf, sumOverTime } from '../src/kinds/sequence_pooling.js'
import { averagePool1d, averagePool2d, spreadRows, spreadSteps } from '../src/kinds/step_windows.js'
import { layersFromConfig } from '../src/layer_registry.js'
import { savedLayer } from '../src/saved_layer.js'

const asFile = (layers: readonly LayerDefinition[]): unknown[] => JSON.parse(JSON.stringify(layers.map(savedLayer)))
const read = (layers: readonly unknown[], given: Readonly<Record<string, LayerDefinition>> = {}) =>
  layersFromConfig(layers, given)

describe('layersFromConfig', () => {
  test.each<[string, LayerDefinition]>([
    ['embedding', embedding({ size: 5, units: 4 })],
    [
      'cudnnLSTM',
      cudnnLSTM({ numUnits: 4, numLayers: 2, direction: 'bidirectional', dropout: 0.5, numProj: 2, cellClip: 3 }),
    ],
    ['cudnnGRU', cudnnGRU({ numUnits: 4, inputSize: 3, inputMode: 'auto_select' })],
    ['cudnnRNNRelu', cudnnRNNRelu({ numUnits: 4 })],
    ['cudnnRNNTanh', cudnnRNNTanh({ numUnits: 4, name: 'own.name-1' })],
    ['dense', dense({ units: 3, activation: 'softmax' })],
    ['dropout', dropout({ rate: 0.25 })],
    ['layerNorm', layerNorm({ epsilon: 0.125 })],
    ['lastStep', lastStep()],
    ['lastStep of the sequence', lastStep({ of: 'sequence' })],
    ['meanOverTime', meanOverTime()],
    ['maxOverTime', maxOverTime({ name: 'top' })],
    ['attentionPooling', attentionPooling({ units: 3 })],
    ['reverse', reverse()],
    ['conv1d', conv1d({ filters: 2, kernelSize: 3, strides: 2, padding: 'causal', activation: 'relu' })],
    ['conv2d', conv2d({ height: 4, filters: 3, kernelSize: [2, 3], padding: 'same' })],
    ['maxPool1d', maxPool1d({ poolSize: 2, strides: 1 })],
    ['maxPool2d', maxPool2d({ height: 4, poolSize: [2, 3], strides: [1, 2] })],
    ['activation', activation('relu', { maximum: 6 })],
    ['timeDistributed', timeDistributed(dense({ units: 2 }), { name: 'each' })],
    ['concat', concat([lastStep(), [dense({ units: 2 }), meanOverTime()]])],
    ['add', add([[], dense({ units: 2 })], { name: 'sum' })],
    ['multiply', multiply([[], dense({ units: 2, activation: 'sigmoid' })])],
    ['stepFunction', stepFunction({ function: 'relu', slope: 0.1, maximum: 6 })],
    ['columnScale', columnScale({ channels: 3 })],
    ['columnSlope', columnSlope({ name: 'own' })],
    ['rearrange', rearrange({ from: [4, 3], to: [12] })],
    ['averagePool1d', averagePool1d({ poolSize: 2, strides: 1, padding: 'same' })],
    ['averagePool2d', averagePool2d({ height: 2, poolSize: [2, 1], strides: [1, 1], padding: 'valid' })],
    ['spreadSteps', spreadSteps({ repeats: 2, zerosAfter: 1 })],
    ['spreadRows', spreadRows({ height: 2, repeats: 2, isSpaced: true })],
    ['joinSteps', joinSteps({})],
    ['joinColumns', joinColumns({ rows: 2 })],
    ['everyStep', everyStep()],
    ['stepOf', stepOf({ step: 2 })],
    ['sumOverTime', sumOverTime({})],
    ['groupNorm', groupNorm({ groups: 2, channels: 4, epsilon: 0.125 })],
    ['timeDistributed over rows', timeDistributed(dense({ units: 2 }), { height: 3 })],
    [
      'convLstm',
      convLstm({ form: [2], filters: 3, kernelSize: [2], activation: 'relu', recurrentActivation: 'sigmoid' }),
    ],
    [
      'timeDistributed over sequences',
      timeDistributed([cudnnLSTM({ numUnits: 2, name: 'words' }), lastStep()], { steps: 3 }),
    ],
    ['multiHeadAttention', multiHeadAttention({ heads: 2, keySize: 3, isCausal: true })],
    ['attention', attention({ score: 'additive', isScaled: true })],
    ['dotProduct', dotProduct({ over: ['columns', 'steps'], steps: 3 })],
    ['timeSoftmax', timeSoftmax({})],
    ['branches within branches', concat([[], add([[], multiply([[], dense({ units: 2 })])])])],
  ])('makes the layer that was saved: %s', (_, layer) => {
    const [again] = read(asFile([layer]))
    expect({ kind: again.kind, name: again.name, config: again.config }).toEqual({
      kind: layer.kind,
      name: layer.name,
      config: JSON.parse(JSON.stringify(layer.config)),
    })
    expect(asFile([again])).toEqual(asFile([layer]))
  })

  test('keeps the order of layers, and makes none of an empty list', () => {
    const layers = [lastStep(), dense({ units: 1 }), dense({ units: 2 })]
    expect(read(asFile(layers)).map(({ kind }) => kind)).toEqual(['lastStep', 'dense', 'dense'])
    expect(read([])).toEqual([])
  })

  test('puts a given layer in the place of the one of its name, within branches too', () => {
    const own = rnn(new LSTMCell(3), { name: 'own' })
    const layers = asFile([concat([[], own]), own])
    const [joined, second] = read(layers, { own })
    expect(second).toBe(own)
    expect(asFile([joined])).toEqual(layers.slice(0, 1))
    const other = dense({ units: 9, name: 'other' })
    expect(read([{ kind: 'dense', name: 'other', config: { units: 'nonsense' } }], { other })).toEqual([other])
  })

  test('states how to pass a layer of a cell, which no file describes', () => {
    const layers = asFile([rnn(new LSTMCell(3), { name: 'own' })])
    expect(() => read(layers)).toThrow(
      coded('ERR_UNKNOWN_LAYER', {
        layer: 'own',
        kind: 'rnn',
        message: expect.stringContaining('own: rnn(new LSTMCell('),
      }),
    )
  })

  test.each<[string, unknown]>([
    ['a list', []],
    ['nothing', null],
    ['a layer without a kind', {}],
    ['an unknown kind', { kind: 'transformer' }],
    ['a kind that every object has', { kind: 'toString' }],
    ['a kind of the prototype', { kind: '__proto__' }],
    ['a kind that is not a text', { kind: ['dense'], config: { units: 1 } }],
    ['options that are a list', { kind: 'dense', config: [] }],
    ['options that are null', { kind: 'dense', config: null }],
    ['options that are missing', { kind: 'dense' }],
    ['an unknown option', { kind: 'dense', config: { units: 1, unit: 2 } }],
    ['an option of another kind', { kind: 'embedding', config: { size: '5', units: 4 } }],
    ['branches that are missing', { kind: 'concat' }],
    ['a branch that is a layer and not a list', { kind: 'concat', config: { branches: [{ kind: 'reverse' }] } }],
    ['an unknown layer in a branch', { kind: 'add', config: { branches: [[], [{ kind: 'mine' }]] } }],
    ['a wrapper of nothing', { kind: 'timeDistributed' }],
    ['a wrapper of layers in a text', { kind: 'timeDistributed', config: { layers: 'all', steps: 2 } }],
    ['a wrapper of an unknown layer', { kind: 'timeDistributed', config: { layer: { kind: 'mine' } } }],
  ])('refuses %s with ERR_UNKNOWN_LAYER', (_, layer) => {
    expect(() => read([layer])).toThrow(coded('ERR_UNKNOWN_LAYER'))
  })

  test('keeps the error of the layer that cannot be made as the cause', () => {
    const layer = { kind: 'dropout', name: 'drop', config: { rate: 2 } }
    expect(() => read([layer])).toThrow(
      coded('ERR_UNKNOWN_LAYER', { layer: 'drop', cause: coded('ERR_INVALID_OPTION') }),
    )
  })

  test.each<[string, (inner: unknown) => unknown]>([
    ['branches', (inner) => ({ kind: 'concat', config: { branches: [[inner]] } })],
    ['wrappers', (layer) => ({ kind: 'timeDistributed', config: { layer } })],
  ])('refuses %s that are deeper than models are, however deep', (_, around) => {
    for (const depth of [40, 20_000]) {
      let layer: unknown = { kind: 'dense', config: { units: 1 } }
      for (let level = 0; level < depth; level++) layer = around(layer)
      expect(() => read([layer])).toThrow(
        coded('ERR_UNKNOWN_LAYER', { message: expect.stringContaining('more than 32 deep') }),
      )
    }
  })
})
