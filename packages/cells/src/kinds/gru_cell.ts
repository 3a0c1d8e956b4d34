import type { CellActivation } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { checkCellOptions, clipBound, GRU_CELL_OPTIONS, type GRUCellOptions } from '../cell/cell_options.js'
import type { StateTree } from '../cell/cell_state.js'
import { denseNames, denseSpecs, type VariableSpec } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

/** The sizes and activations of a GRU. */
abstract class GRUCell extends GraphCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  /** The candidate's activation. */
  readonly activation: CellActivation
  readonly recurrentActivation: CellActivation
  /** Bound of the inputs of the gates and the candidate; Infinity for none. */
  readonly preactivationClip: number

  constructor(className: string, name: string, numUnits: number, options: GRUCellOptions) {
    const given = checkCellOptions(className, numUnits, options, GRU_CELL_OPTIONS)
    const { activation = 'tanh', recurrentActivation = 'sigmoid' } = given
    super(given.name ?? name, given.dtype, [activation, recurrentActivation])
    this.stateSize = numUnits
    this.outputSize = numUnits
    this.activation = activation
    this.recurrentActivation = recurrentActivation
    this.preactivationClip = clipBound(given.preactivationClip)
  }

  protected gates(graph: StepGraph, z: Value): readonly Value[] {
    return graph.t.split(graph.activate(z, this.recurrentActivation, 0, this.preactivationClip), 2)
  }

  protected candidate(graph: StepGraph, z: Value): Value {
    return graph.activate(z, this.activation, 0, this.preactivationClip)
  }
}

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
