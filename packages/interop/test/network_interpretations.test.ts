import { LSTMCell } from '@cudnn-rnn/cells'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type ImportOptions, importWeights } from '../src/index.js'
import { fileOf, only, type Shapes } from './interpreted_files.js'

describe('importWeights of variables of TensorFlow', () => {
  const importOf = (shapes: Shapes, options: ImportOptions = {}) => importWeights(fileOf('tensorflow', shapes), options)
  /** An LSTM of 2 units and `inputs` inputs. */
  const lstm = (prefix: string, inputs = 3): Shapes => ({
    [`${prefix}/kernel`]: [inputs + 2, 8],
    [`${prefix}/bias`]: [8],
  })
  const gru = (prefix: string): Shapes => ({
    [`${prefix}/gates/kernel`]: [5, 4],
    [`${prefix}/gates/bias`]: [4],
    [`${prefix}/candidate/kernel`]: [5, 2],
    [`${prefix}/candidate/bias`]: [2],
  })

  it('takes the names of all releases', async () => {
    for (const [kernel, bias] of [
      ['kernel', 'bias'],
      ['weights', 'biases'],
    ]) {
      const { networks } = await importOf({ [`rnn/lstm_cell/${kernel}`]: [5, 8], [`rnn/lstm_cell/${bias}`]: [8] })
      expect(only(networks)).toMatchObject({
        name: 'rnn/lstm_cell',
        descriptor: { cellMode: 'lstm', numUnits: 2, inputSize: 3, numLayers: 1 },
      })
    }
  })

  it('adds the forget bias of cells that add it at run time, and only of these', async () => {
    const forgetOf = async (cell: string, options: ImportOptions = {}) => {
      const { canonical, notes } = only((await importOf(lstm(`rnn/${cell}`), options)).networks)
      // The input side holds the sum of both biases or half of it: their sum counts.
      const sums = canonical.biases.slice(0, 4).map(({ data }, gate) => data[0]! + canonical.biases[gate + 4]!.data[0]!)
      return { sums, hasNote: notes.length === 1 }
    }
    // Gates i, f, c, o of cuDNN; the bias is the second tensor of the file.
    expect(await forgetOf('basic_lstm_cell')).toEqual({ sums: [2, 3, 2, 2], hasNote: true })
    expect(await forgetOf('lstm_block_cell', { forgetBias: 0.5 })).toEqual({ sums: [2, 2.5, 2, 2], hasNote: true })
    expect(await forgetOf('lstm_cell_1', { forgetBias: 0 })).toEqual({ sums: [2, 2, 2, 2], hasNote: true })
    expect(await forgetOf('cudnn_compatible_lstm_cell')).toEqual({ sums: [2, 2, 2, 2], hasNote: false })
  })

  it('puts the cells of a stack together in the order of their numbers', async () => {
    const shapes = Object.fromEntries(
      Array.from({ length: 11 }, (_, k) =>
        Object.entries(lstm(`rnn/multi_rnn_cell/cell_${k}/lstm_cell`, k === 0 ? 3 : 2)),
      )
        .flat()
        .reverse(),
    )
    const { descriptor, tensorNames } = only((await importOf(shapes)).networks)
    expect(descriptor).toMatchObject({ numLayers: 11, inputSize: 3, direction: 'unidirectional' })
    const layers = tensorNames.filter((name) => name.endsWith('kernel')).map((name) => /cell_(\d+)/.exec(name)?.[1])
    expect(layers).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
  })

  const both = (scope: string, bw: Shapes = lstm(`${scope}/bw/lstm_cell`)) => ({
    ...lstm(`${scope}/fw/lstm_cell`),
    ...bw,
  })
  const stack = (...inputs: readonly number[]): Shapes =>
    Object.assign({}, ...inputs.map((size, k) => lstm(`s/multi_rnn_cell/cell_${k}/lstm_cell`, size)))
  it.each<[string, Shapes, readonly (readonly [name: string, direction: string, reverse: boolean])[]]>([
    ['another scope', both('bi-lstm'), [['bi-lstm', 'bidirectional', false]]],
    ['no scope', { ...lstm('fw/lstm_cell'), ...lstm('bw/lstm_cell') }, [['', 'bidirectional', false]]],
    [
      'another size backward',
      both('bi', lstm('bi/bw/lstm_cell', 5)),
      [
        ['bi/fw/lstm_cell', 'unidirectional', false],
        ['bi/bw/lstm_cell', 'unidirectional', true],
      ],
    ],
    ['the backward side alone', lstm('bi/bw/lstm_cell'), [['bi/bw/lstm_cell', 'unidirectional', true]]],
    [
      'words for the sides',
      { ...lstm('a/forward/lstm_cell'), ...lstm('a/backward/lstm_cell'), ...lstm('backward_model/lstm_cell') },
      [
        ['a/forward/lstm_cell', 'unidirectional', false],
        ['a/backward/lstm_cell', 'unidirectional', true],
        ['backward_model/lstm_cell', 'unidirectional', false],
      ],
    ],
    [
      'a missing cell',
      { ...lstm('multi_rnn_cell/cell_0/lstm_cell'), ...lstm('multi_rnn_cell/cell_2/lstm_cell', 2) },
      [
        ['multi_rnn_cell/cell_0/lstm_cell', 'unidirectional', false],
        ['multi_rnn_cell/cell_2/lstm_cell', 'unidirectional', false],
      ],
    ],
    [
      'cells that do not feed each other',
      stack(3, 5),
      [
        ['s/multi_rnn_cell/cell_0/lstm_cell', 'unidirectional', false],
        ['s/multi_rnn_cell/cell_1/lstm_cell', 'unidirectional', false],
      ],
    ],
    [
      'a cell of another kind above them',
      {
        ...stack(3, 2),
        's/multi_rnn_cell/cell_2/gru_cell/gates/kernel': [4, 4],
        's/multi_rnn_cell/cell_2/gru_cell/gates/bias': [4],
        's/multi_rnn_cell/cell_2/gru_cell/candidate/kernel': [4, 2],
        's/multi_rnn_cell/cell_2/gru_cell/candidate/bias': [2],
      },
      [
        ['s/multi_rnn_cell/cell_0/lstm_cell', 'unidirectional', false],
        ['s/multi_rnn_cell/cell_1/lstm_cell', 'unidirectional', false],
      ],
    ],
  ])('finds every cell with its direction under %s', async (_, shapes, expected) => {
    const { networks, unusedTensors } = await importOf(shapes)
    expect(networks.map(({ name, descriptor, reverse }) => [name, descriptor.direction, reverse])).toEqual(expected)
    expect(unusedTensors).toEqual([])
  })

  it('reads both directions as one network, and stacks of them', async () => {
    const sides = { ...lstm('enc/bidirectional_rnn/bw/lstm_cell'), ...lstm('enc/bidirectional_rnn/fw/lstm_cell') }
    const both = only((await importOf(sides)).networks)
    expect(both).toMatchObject({
      name: 'enc/bidirectional_rnn',
      reverse: false,
      descriptor: { direction: 'bidirectional', numLayers: 1 },
    })
    expect(both.tensorNames[0]).toContain('/fw/')
    const stack = Object.fromEntries(
      [0, 1].flatMap((layer) =>
        ['fw', 'bw'].flatMap((side) =>
          Object.entries(
            lstm(`stack_bidirectional_rnn/cell_${layer}/bidirectional_rnn/${side}/lstm_cell`, layer === 0 ? 3 : 4),
          ),
        ),
      ),
    )
    expect(only((await importOf(stack)).networks)).toMatchObject({
      name: 'stack_bidirectional_rnn',
      descriptor: { direction: 'bidirectional', numLayers: 2, inputSize: 3 },
    })
  })

  it('reads stacks within the directions separately, those of bw reversed', async () => {
    const stack = (side: string, cell: (prefix: string, inputs: number) => Shapes) => ({
      ...cell(`bidirectional_rnn/${side}/multi_rnn_cell/cell_0/own`, 3),
      ...cell(`bidirectional_rnn/${side}/multi_rnn_cell/cell_1/own`, 2),
    })
    const lstms = (side: string) => stack(side, (prefix, inputs) => lstm(prefix.replace('own', 'lstm_cell'), inputs))
    const { networks } = await importOf({ ...lstms('fw'), ...lstms('bw') })
    expect(networks.map(({ name, reverse }) => [name, reverse])).toEqual([
      ['bidirectional_rnn/fw/multi_rnn_cell', false],
      ['bidirectional_rnn/bw/multi_rnn_cell', true],
    ])
    const grus = (side: string) => stack(side, (prefix) => gru(prefix.replace('own', 'gru_cell')))
    const { cells } = await importOf({ ...grus('fw'), ...grus('bw') })
    expect(cells.map(({ name, reverse }) => [name.slice(18, 20), reverse])).toEqual([
      ['fw', false],
      ['fw', false],
      ['bw', true],
      ['bw', true],
    ])
  })

  it('reads a GRU that resets before the product as a cell, under either of its names', async () => {
    const block = {
      'gru_block_cell/w_ru': [5, 4],
      'gru_block_cell/b_ru': [4],
      'gru_block_cell/w_c': [5, 2],
      'gru_block_cell/b_c': [2],
    }
    for (const shapes of [block, gru('gru_cell')]) {
      const cell = only((await importOf(shapes)).cells)
      expect(cell).toMatchObject({ cell: 'GRUBlockCell', numUnits: 2, inputSize: 3, reverse: false })
      expect(Object.entries(cell.variables).map(([name, { data }]) => [name, data[0]])).toEqual([
        ['w_ru', 1],
        ['b_ru', 2],
        ['w_c', 3],
        ['b_c', 4],
      ])
    }
  })

  const diagonals = (prefix: string): Shapes => ({
    [`${prefix}/w_i_diag`]: [2],
    [`${prefix}/w_f_diag`]: [2],
    [`${prefix}/w_o_diag`]: [2],
  })

  it('reads an LSTM with peepholes as a cell whose bias includes the forget bias', async () => {
    const cell = only((await importOf({ ...lstm('lstm_cell'), ...diagonals('lstm_cell') })).cells)
    expect(cell).toMatchObject({
      cell: 'LSTMBlockCell',
      options: { forgetBias: 0, usePeephole: true },
      numUnits: 2,
      inputSize: 3,
    })
    // Gates i, c, f, o.
    expect([...cell.variables['bias']!.data]).toEqual([2, 2, 2, 2, 3, 3, 2, 2])
  })

  it('reads a projection from the columns of its kernel', async () => {
    const projected = { 'lstm_cell/kernel': [4, 8], 'lstm_cell/bias': [8], 'lstm_cell/projection/kernel': [2, 1] }
    expect(only((await importOf(projected)).networks).descriptor).toMatchObject({
      numUnits: 2,
      numProj: 1,
      inputSize: 3,
    })
  })

  it('reads an LSTM with peepholes and a projection as an LSTMCell, which takes the variables', async () => {
    const shapes = {
      ...{ 'lstm_cell/kernel': [4, 8], 'lstm_cell/bias': [8], 'lstm_cell/projection/kernel': [2, 1] },
      ...diagonals('lstm_cell'),
    }
    const { cell, options, numUnits, inputSize, variables } = only((await importOf(shapes)).cells)
    expect({ cell, options, numUnits, inputSize }).toEqual({
      ...{ cell: 'LSTMCell', options: { forgetBias: 0, usePeepholes: true, numProj: 1 }, numUnits: 2, inputSize: 3 },
    })
    const built = new LSTMCell(numUnits, options)
    built.setVariables(variables)
    expect(built.outputSize).toBe(1)
  })

  it('requires the cell of a BasicRNNCell, and takes its width as its units', async () => {
    const shapes = { 'rnn/basic_rnn_cell/kernel': [5, 2], 'rnn/basic_rnn_cell/bias': [2] }
    await expect(importOf(shapes)).rejects.toThrow(coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['cellMode'] }))
    const { descriptor, notes } = only((await importOf(shapes, { cellMode: 'rnn_relu' })).networks)
    expect(descriptor).toMatchObject({ cellMode: 'rnn_relu', numUnits: 2, inputSize: 3 })
    expect(notes).toEqual([])
  })
})
