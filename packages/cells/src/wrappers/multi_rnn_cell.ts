import { checkArguments, checkOptions, codedRangeError, listOf } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { CELL_OPTIONS, type CellOptions } from '../cell/cell_options.js'
import type { CellState, StateSize, StateTree } from '../cell/cell_state.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { joinScopes } from '../cell/variable_scopes.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'
import { type CellPart, CompositeCell } from './composite_cell.js'

const CELLS = listOf(CELL)
const OPTIONS = { name: CELL_OPTIONS.name }

/**
 * TensorFlow's `MultiRNNCell`: cells stacked, each fed the output of the one below. Its state is the list of theirs; its
 * variables are `cell_<k>/<name of cell>/<variable>`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION` for no cells, one cell twice, or mixed dtypes
 * @example
 * ```ts
 * import { GRUBlockCell, LSTMCell, MultiRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new MultiRNNCell([new LSTMCell(4), new GRUBlockCell(5)])
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.length) // [2, 5] 2
 * ```
 */
export class MultiRNNCell extends CompositeCell<readonly CellState[]> {
  readonly cells: readonly RNNCell<CellState>[]
  protected readonly parts: readonly CellPart[]

  // biome-ignore lint/suspicious/noExplicitAny: a stack mixes cells of any state, and step() hands each its own back.
  constructor(cells: readonly RNNCell<any>[], options: Pick<CellOptions, 'name'> = {}) {
    const { cells: own } = checkArguments('build MultiRNNCell', { cells }, { cells: CELLS })
    const given = checkOptions('build MultiRNNCell', options, OPTIONS)
    super(given.name ?? 'multi_rnn_cell', own[0]?.dtype)
    const dtypes = [...new Set(own.map(({ dtype }) => dtype))]
    if (own.length === 0 || new Set(own).size !== own.length || dtypes.length !== 1) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot build MultiRNNCell as cells must be one or more different cells of one dtype: current list has ${own.length} (${dtypes.join(', ')})`,
        { option: 'cells' },
      )
    }
    this.cells = [...cells]
    this.parts = this.cells.map((cell, k) => ({
      scope: joinScopes(`cell_${k}`, cell.scope),
      cell,
      inputSizeOf: (inputSize) => (k === 0 ? inputSize : this.cells[k - 1].outputSize),
    }))
  }

  get stateSize(): StateSize & readonly StateSize[] {
    return this.cells.map(({ stateSize }) => stateSize)
  }

  get outputSize(): number {
    return this.cells[this.cells.length - 1].outputSize
  }

  protected override get inputPart(): CellPart {
    return this.parts[0]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const before = state as readonly StateTree<Value>[]
    const after: StateTree<Value>[] = []
    let output = x
    for (const [k, cell] of this.cells.entries()) {
      const inner = graph.innerStep(cell, this.parts[k].scope, output, before[k])
      after.push(inner.state)
      output = inner.output
    }
    return { output, state: after }
  }
}
