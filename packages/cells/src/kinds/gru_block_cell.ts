import type { Value } from '@cudnn-rnn/ops/executor'
import type { GRUCellOptions } from '../cell/cell_options.js'
import type { StateTree } from '../cell/cell_state.js'
import type { VariableSpec } from '../cell/cell_variables.js'
import { GRUCell } from './gru_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'
import { denseSpecs } from '../cell/variable_specs.js'

/**
 * TensorFlow's `GRUBlockCell`, the GRU that resets before the product (cuDNN's resets after it: see
 * `CudnnCompatibleGRUCell`). Variables `w_ru` [I+H,2H] and `b_ru` (starts at 1) in blocks r,u; `w_c` [I+H,H], `b_c`.
 *
 *     r, u = σ([x,h]·W_ru + b_ru)   c = tanh([x, r∘h]·W_c + b_c)   h' = u∘h + (1-u)∘c
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { GRUBlockCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new GRUBlockCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 4] [2, 4]
 * ```
 */
export class GRUBlockCell extends GRUCell {
  constructor(numUnits: number, options: GRUCellOptions = {}) {
    super('GRUBlockCell', 'gru_cell', numUnits, options)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const units = this.stateSize
    const rows = inputSize + units
    return [...denseSpecs(['w_ru', 'b_ru'], rows, 2 * units, 1), ...denseSpecs(['w_c', 'b_c'], rows, units)]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const h = state as Value
    const [r, u] = this.gates(graph, graph.linear([x, h], 'w_ru', 'b_ru'))
    const candidate = graph.linear([x, graph.t.multiply(r, h)], 'w_c', 'b_c')
    const next = graph.mix(u, h, this.candidate(graph, candidate))
    return { output: next, state: next }
  }
}
