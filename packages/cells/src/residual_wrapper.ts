import { checkArguments, checkOptions } from '@cudnn-rnn/arguments'
import type { CellState, StateTree } from './cell_state.js'
import type { GraphStep } from './graph_cell.js'
import { add } from './graph_elementwise.js'
import { innerStep } from './graph_inner_step.js'
import { CELL, type RNNCell } from './rnn_cell.js'
import { SkipWrapper } from './skip_wrapper.js'
import type { GraphValue, StepGraph } from './step_graph.js'

/**
 * TensorFlow's `ResidualWrapper`: the cell's output plus its input; the state is the cell's, and so are the variables and
 * their names. TensorFlow's `residual_fn` would need its gradient here and is not offered.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`
 */
export class ResidualWrapper<State extends CellState> extends SkipWrapper<State> {
  constructor(cell: RNNCell<State>, options: Readonly<Record<string, never>> = {}) {
    checkArguments('build ResidualWrapper', { cell }, { cell: CELL })
    checkOptions('build ResidualWrapper', options, {})
    super(cell, cell.name, '')
  }

  protected override equations(graph: StepGraph, x: GraphValue, state: StateTree<GraphValue>): GraphStep {
    const inner = innerStep(graph, this.cell as unknown as RNNCell<CellState>, '', x, state)
    return { output: add(graph, x, inner.output), state: inner.state }
  }
}
