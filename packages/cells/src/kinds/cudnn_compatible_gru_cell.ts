import type { Value } from '@cudnn-rnn/ops/executor'
import type { GRUCellOptions } from '../cell/cell_options.js'
import type { StateTree } from '../cell/cell_state.js'
import type { VariableSpec } from '../cell/cell_variables.js'
import { GRUCell } from './gru_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'
import { denseNames, denseSpecs } from '../cell/variable_specs.js'

const GATES = denseNames('gates')
const INPUT = denseNames('candidate/input_projection')
const HIDDEN = denseNames('candidate/hidden_projection')

/**
 * TensorFlow's `CudnnCompatibleGRUCell`, the linear-before-reset GRU that a layer of `CudnnGRU` computes. Variables
 * `gates/kernel` [I+H,2H] and `gates/bias` (starts at 1) in blocks r,u; `candidate/input_projection/` and
 * `candidate/hidden_projection/` `kernel` and `bias`.
 *
 *     r, u = σ([x,h]·W_ru + b_ru)   n = tanh(x·W_i + b_i + r∘(h·W_h + b_h))   h' = (1-u)∘n + u∘h
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { CudnnCompatibleGRUCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new CudnnCompatibleGRUCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 4] [2, 4]
 * ```
 */
export class CudnnCompatibleGRUCell extends GRUCell {
  constructor(numUnits: number, options: GRUCellOptions = {}) {
    super('CudnnCompatibleGRUCell', 'cudnn_compatible_gru_cell', numUnits, options)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const units = this.stateSize
    return [
      ...denseSpecs(GATES, inputSize + units, 2 * units, 1),
      ...denseSpecs(INPUT, inputSize, units),
      ...denseSpecs(HIDDEN, units, units),
    ]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const h = state as Value
    const [r, u] = this.gates(graph, graph.linear([x, h], ...GATES))
    const input = graph.linear([x], ...INPUT)
    const hidden = graph.linear([h], ...HIDDEN)
    const candidate = this.candidate(graph, graph.t.add(input, graph.t.multiply(r, hidden)))
    const next = graph.mix(u, h, candidate)
    return { output: next, state: next }
  }
}
