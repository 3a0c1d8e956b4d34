import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  AttentionCellWrapper,
  DropoutWrapper,
  HighwayWrapper,
  LSTMCell,
  MultiRNNCell,
  ResidualWrapper,
  UGRNNCell,
} from '../../src/index.js'
import { float32 } from '../cell_checks.js'

const filled = (value: number, ...shape: number[]) => float32(new Float32Array(elementCount(shape)).fill(value), shape)

describe('MultiRNNCell', () => {
  it.each<[string, () => unknown]>([
    ['no cells', () => new MultiRNNCell([])],
    [
      'one cell twice',
      () => {
        const cell = new UGRNNCell(2)
        return new MultiRNNCell([cell, cell])
      },
    ],
    ['cells of two dtypes', () => new MultiRNNCell([new UGRNNCell(2), new UGRNNCell(2, { dtype: 'float64' })])],
  ])('refuses %s', (_, build) => {
    expect(build).toThrow(coded('ERR_INVALID_OPTION', { option: 'cells' }))
  })

  it('has the list of the states of its cells, and the output of the last', () => {
    const cell = new MultiRNNCell([new LSTMCell(3, { numProj: 2 }), new UGRNNCell(4)], { name: 'stack' })
    expect([cell.stateSize, cell.outputSize, cell.name, cell.scope]).toEqual([[{ c: 3, h: 2 }, 4], 4, 'stack', 'stack'])
    const [first, second] = cell.zeroState(5)
    expect(first).toEqual({ c: filled(0, 5, 3), h: filled(0, 5, 2) })
    expect(second).toEqual(filled(0, 5, 4))
  })

  it('does not follow the list that it was made of', () => {
    const cells = [new UGRNNCell(2), new UGRNNCell(4)]
    const cell = new MultiRNNCell(cells)
    cells.pop()
    expect([cell.cells.length, cell.outputSize]).toEqual([2, 4])
  })
})

describe('wrappers', () => {
  it.each([
    ['ResidualWrapper', () => new ResidualWrapper(new UGRNNCell(3)), ['kernel', 'bias'], 'ugrnn_cell'],
    ['DropoutWrapper', () => new DropoutWrapper(new UGRNNCell(3)), ['kernel', 'bias'], 'ugrnn_cell'],
    [
      'HighwayWrapper',
      () => new HighwayWrapper(new UGRNNCell(3), { coupleCarryTransformGates: false }),
      ['ugrnn_cell/kernel', 'ugrnn_cell/bias', 'carry_w', 'carry_b', 'transform_w', 'transform_b'],
      '',
    ],
    [
      'AttentionCellWrapper',
      () => new AttentionCellWrapper(new UGRNNCell(3), 2, { name: 'attention' }),
      [
        ...['kernel', 'bias', 'attention/attn_w', 'attention/attn_v', 'attention/kernel', 'attention/bias'],
        ...['attn_output_projection/kernel', 'attn_output_projection/bias', 'ugrnn_cell/kernel', 'ugrnn_cell/bias'],
      ],
      'attention',
    ],
  ] as const)('%s has the variables of its cell and its own, in its scope', (_, make, names, scope) => {
    const cell = make()
    cell.build(3)
    expect([...cell.variables.keys()].sort()).toEqual([...names].sort())
    expect(cell.scope).toBe(scope)
    expect([...cell.zeroGradients().keys()]).toEqual([...cell.variables.keys()])
  })

  it('begin their gates at the biases of TensorFlow', () => {
    const cell = new HighwayWrapper(new UGRNNCell(2), { coupleCarryTransformGates: false, carryBiasInit: 3 })
    cell.build(2)
    expect([...cell.variables.get('carry_b')!.data]).toEqual([3, 3])
    expect([...cell.variables.get('transform_b')!.data]).toEqual([-3, -3])
  })

  it('share their cell: its variables are written through them', () => {
    const inner = new UGRNNCell(2)
    const outer = new ResidualWrapper(inner)
    outer.setVariables({ kernel: filled(3, 4, 4) })
    expect([...inner.variables.get('kernel')!.data]).toEqual(new Array(16).fill(3))
    expect(outer.inputSize).toBe(2)
  })
})
