import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  AttentionCellWrapper,
  DropoutWrapper,
  GLSTMCell,
  HighwayWrapper,
  MultiRNNCell,
  PhasedLSTMCell,
  ResidualWrapper,
  UGRNNCell,
} from '../../src/index.js'
import { float32 } from '../cell_checks.js'

const filled = (value: number, ...shape: number[]) => float32(new Float32Array(elementCount(shape)).fill(value), shape)

/** Inputs of 3 columns, outputs of 2 and 4. */
const stack = () => new MultiRNNCell([new UGRNNCell(2), new UGRNNCell(4)])
const KERNELS = ['cell_0/ugrnn_cell/kernel', 'cell_1/ugrnn_cell/kernel'] as const

describe('CompositeCell.build', () => {
  it('builds every part for the columns that it gets', () => {
    const cell = stack()
    cell.build(3)
    expect([cell.inputSize, ...cell.cells.map(({ inputSize }) => inputSize)]).toEqual([3, 3, 2])
    expect([...cell.variables].map(([name, { shape }]) => [name, shape])).toEqual([
      [KERNELS[0], [5, 4]],
      ['cell_0/ugrnn_cell/bias', [4]],
      [KERNELS[1], [6, 8]],
      ['cell_1/ugrnn_cell/bias', [8]],
    ])
  })

  it('draws the values of part k from seed + k', () => {
    const cell = stack()
    cell.build(3, { seed: 7 })
    const alone = [new UGRNNCell(2), new UGRNNCell(4)] as const
    alone[0].build(3, { seed: 7 })
    alone[1].build(2, { seed: 8 })
    for (const [k, part] of alone.entries()) {
      expect(cell.variables.get(KERNELS[k])).toEqual(part.variables.get('kernel'))
    }
  })

  it('is done once, and refuses another size', () => {
    const cell = stack()
    cell.build(3)
    const before = cell.variables.get(KERNELS[0])
    cell.build(3, { seed: 5 })
    expect(cell.variables.get(KERNELS[0])).toBe(before)
    expect(() => cell.build(4)).toThrow(coded('ERR_CELL_BUILT', { expected: 3, actual: 4 }))
    expect(() => cell.build(0)).toThrow(coded('ERR_INVALID_OPTION'))
  })
})

describe('CompositeCell.build refused by a later part', () => {
  it.each<[string, string, () => MultiRNNCell]>([
    [
      'a residual of other columns',
      'ERR_INVALID_OPTION',
      () => new MultiRNNCell([new UGRNNCell(2), new ResidualWrapper(new UGRNNCell(4))]),
    ],
    [
      'columns that no groups divide',
      'ERR_INVALID_OPTION',
      () => new MultiRNNCell([new UGRNNCell(5), new GLSTMCell(4, { numberOfGroups: 2 })]),
    ],
    [
      'a time without features',
      'ERR_INVALID_OPTION',
      () => new MultiRNNCell([new UGRNNCell(1), new DropoutWrapper(new PhasedLSTMCell(2))]),
    ],
    [
      'a cell that two parts share, for other columns each',
      'ERR_CELL_BUILT',
      () => {
        const shared = new UGRNNCell(4)
        return new MultiRNNCell([new DropoutWrapper(shared), shared])
      },
    ],
  ])('builds none for %s', (_, code, make) => {
    const cell = make()
    expect(() => cell.build(3)).toThrow(coded(code))
    expect([cell.inputSize, cell.variables.size]).toEqual([undefined, 0])
    expect(cell.cells.map(({ inputSize }) => inputSize)).toEqual(cell.cells.map(() => undefined))
    expect(() => cell.call(filled(1, 2, 3), cell.zeroState(2))).toThrow(coded(code))
    expect(cell.variables.size).toBe(0)
  })

  it('keeps the variables of a part that was built before', () => {
    const [first, second] = [new UGRNNCell(2), new UGRNNCell(4)]
    second.build(5)
    const before = [...second.variables]
    const cell = new MultiRNNCell([first, second])
    expect(() => cell.build(3)).toThrow(coded('ERR_CELL_BUILT', { expected: 5, actual: 2 }))
    expect([first.inputSize, second.inputSize]).toEqual([undefined, 5])
    for (const [k, [name, value]] of [...second.variables].entries()) {
      expect(name).toBe(before[k][0])
      expect(value).toBe(before[k][1])
    }
  })

  it('leaves the variables of a wrapper unbuilt beside those of its cell', () => {
    const cell = new AttentionCellWrapper(new GLSTMCell(4, { numberOfGroups: 2 }), 2)
    expect(() => cell.build(3)).toThrow(coded('ERR_INVALID_OPTION'))
    expect([cell.inputSize, cell.variables.size]).toEqual([undefined, 0])
    cell.build(4, { seed: 3 })
    const other = new AttentionCellWrapper(new GLSTMCell(4, { numberOfGroups: 2 }), 2)
    other.build(4, { seed: 3 })
    expect([...cell.variables]).toEqual([...other.variables])
  })
})

describe('CompositeCell.savepoint', () => {
  it('gives every part its earlier variables back', () => {
    const cell = stack()
    const unbuilt = cell.savepoint()
    cell.build(3)
    const before = new Map(cell.variables)
    const built = cell.savepoint()
    cell.setVariables({ [KERNELS[1]]: filled(2, 6, 8) })
    built()
    expect(cell.variables.get(KERNELS[1])).toBe(before.get(KERNELS[1]))
    unbuilt()
    expect([cell.inputSize, cell.variables.size]).toEqual([undefined, 0])
    cell.build(7)
    expect(cell.inputSize).toBe(7)
  })
})

describe('CompositeCell.setVariables', () => {
  it('gives each part its variables, and builds those that are not built', () => {
    const cell = stack()
    cell.setVariables({ [KERNELS[0]]: filled(1, 5, 4), [KERNELS[1]]: filled(2, 6, 8) })
    expect(cell.inputSize).toBe(3)
    expect(cell.cells.map(({ variables }) => variables.get('kernel')?.data[0])).toEqual([1, 2])
    expect(cell.zeroGradients().get(KERNELS[1])).toEqual(filled(0, 6, 8))
  })

  it.each<[string, Record<string, ReturnType<typeof filled>>]>([
    [
      'a second kernel for other columns than the first cell has',
      { [KERNELS[0]]: filled(1, 5, 4), [KERNELS[1]]: filled(2, 9, 8) },
    ],
    ['a first kernel of impossible rows', { [KERNELS[0]]: filled(1, 2, 4), [KERNELS[1]]: filled(2, 6, 8) }],
    ['a bias of another length', { [KERNELS[0]]: filled(1, 5, 4), 'cell_1/ugrnn_cell/bias': filled(2, 4) }],
  ])('refuses %s, and builds nothing', (_, values) => {
    const cell = stack()
    expect(() => cell.setVariables(values)).toThrow(coded('ERR_SHAPE'))
    expect([cell.inputSize, cell.variables.size]).toEqual([undefined, 0])
  })

  it('refuses values that do not fit the built cells, by their names in the stack', () => {
    const cell = stack()
    cell.build(3)
    const before = [...cell.variables]
    const refusal = coded('ERR_SHAPE', { argument: KERNELS[1] })
    expect(() => cell.setVariables({ [KERNELS[0]]: filled(1, 5, 4), [KERNELS[1]]: filled(2, 9, 8) })).toThrow(refusal)
    expect(() => cell.setVariables({ 'cell_2/ugrnn_cell/kernel': filled(1, 5, 4) })).toThrow(
      coded('ERR_UNKNOWN_OPTION'),
    )
    expect(() => cell.setVariables({ [KERNELS[0]]: { data: new Float64Array(20), shape: [5, 4] } })).toThrow(
      coded('ERR_DTYPE'),
    )
    expect([...cell.variables]).toEqual(before)
  })
})

describe('CompositeCell.setVariables of columns that a part refuses', () => {
  it('writes nothing where a later cell refuses its columns', () => {
    const cell = new MultiRNNCell([new UGRNNCell(1), new PhasedLSTMCell(2)])
    const kernel = 'cell_1/phased_lstm_cell/mask_gates/kernel'
    expect(() => cell.setVariables({ 'cell_0/ugrnn_cell/kernel': filled(1, 4, 2), [kernel]: filled(1, 2, 4) })).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'inputSize' }),
    )
    expect([cell.inputSize, cell.variables.size]).toEqual([undefined, 0])
  })

  it.each([
    ['ResidualWrapper', (cell: UGRNNCell) => new ResidualWrapper(cell), 'kernel'],
    ['HighwayWrapper', (cell: UGRNNCell) => new HighwayWrapper(cell), 'ugrnn_cell/kernel'],
    [
      'DropoutWrapper around a ResidualWrapper',
      (cell: UGRNNCell) => new DropoutWrapper(new ResidualWrapper(cell)),
      'kernel',
    ],
  ] as const)('%s refuses a kernel for other columns than its output has', (_, wrap, name) => {
    const inner = new UGRNNCell(3)
    const cell = wrap(inner)
    expect(() => cell.setVariables({ [name]: filled(1, 5, 6) })).toThrow(coded('ERR_INVALID_OPTION', { value: 2 }))
    expect([inner.inputSize, inner.variables.size]).toEqual([undefined, 0])
    cell.setVariables({ [name]: filled(1, 6, 6) })
    expect(inner.inputSize).toBe(3)
  })
})
