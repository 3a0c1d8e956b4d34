import type { OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { CellActivation } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { ACTIVATION } from '../cell/activation.js'
import {
  CELL_OPTIONS,
  type CellOptions,
  checkCellOptions,
  clipBound,
  PREACTIVATION_CLIP,
  type PreactivationClip,
} from '../cell/cell_options.js'
import type { StateTree } from '../cell/cell_state.js'
import { denseSpecs, type VariableSpec } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  ...PREACTIVATION_CLIP,
  /** Default tanh. */
  activation: ACTIVATION,
}

interface BasicRNNCellOptions extends CellOptions, PreactivationClip, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `BasicRNNCell`: h' = act([x,h]·K + b); variables `kernel` [I+H,H], `bias`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { BasicRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new BasicRNNCell(4, { activation: 'relu' })
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 4] [2, 4]
 * ```
 */
export class BasicRNNCell extends GraphCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  readonly activation: CellActivation
  /** Bound of the input of the activation; Infinity for none. */
  readonly preactivationClip: number

  constructor(numUnits: number, options: BasicRNNCellOptions = {}) {
    const given = checkCellOptions('BasicRNNCell', numUnits, options, OPTIONS)
    const { activation = 'tanh' } = given
    super(given.name ?? 'basic_rnn_cell', given.dtype, [activation])
    this.stateSize = numUnits
    this.outputSize = numUnits
    this.activation = activation
    this.preactivationClip = clipBound(given.preactivationClip)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return denseSpecs(['kernel', 'bias'], inputSize + this.stateSize, this.stateSize)
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const z = graph.linear([x, state as Value], 'kernel', 'bias')
    const next = graph.activate(z, this.activation, 0, this.preactivationClip)
    return { output: next, state: next }
  }
}
