import { checkArguments, checkOptions } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import type { CellState, StateTree } from '../cell/cell_state.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { SkipWrapper } from './cell_wrapper.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

/**
 * TensorFlow's `ResidualWrapper`: the cell's output plus its input; the state is the cell's, and so are the variables and
 * their names. TensorFlow's `residual_fn` would need its gradient here and is not offered.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { BasicRNNCell, ResidualWrapper } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new ResidualWrapper(new BasicRNNCell(3))
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 3] [2, 3]
 * ```
 */
export class ResidualWrapper<State extends CellState> extends SkipWrapper<State> {
  constructor(cell: RNNCell<State>, options: Readonly<Record<string, never>> = {}) {
    checkArguments('build ResidualWrapper', { cell }, { cell: CELL })
    checkOptions('build ResidualWrapper', options, {})
    super(cell, cell.name, '')
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const inner = graph.innerStep(this.cell as unknown as RNNCell<CellState>, '', x, state)
    return { output: graph.t.add(x, inner.output), state: inner.state }
  }
}
