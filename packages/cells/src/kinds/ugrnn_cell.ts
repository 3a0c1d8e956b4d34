import { FINITE, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { CellActivation } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { ACTIVATION } from '../cell/activation.js'
import { CELL_OPTIONS, type CellOptions, checkCellOptions } from '../cell/cell_options.js'
import type { StateTree } from '../cell/cell_state.js'
import type { VariableSpec } from '../cell/cell_variables.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { GraphCell } from '../graph/graph_cell.js'
import { INITIALIZER, kernelInitializer } from '../cell/kernel_initializer.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** Initializer of the kernel. Default `glorot_uniform`. */
  initializer: INITIALIZER,
  /** Added to the gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
  /** Activation of the candidate. Default tanh. */
  activation: ACTIVATION,
}

interface UGRNNCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `UGRNNCell`, the update gate RNN of Collins et al. 2016 (https://arxiv.org/abs/1611.09913). Variables
 * `kernel` [I+U,2U] in blocks g,c, `bias`.
 *
 *     g = σ(ẑ_g + φ)   h' = g∘h + (1-g)∘act(ẑ_c)   with ẑ = [x,h]·K + b and the forget bias φ
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { UGRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new UGRNNCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 4] [2, 4]
 * ```
 */
export class UGRNNCell extends GraphCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  readonly forgetBias: number
  readonly activation: CellActivation
  readonly #initializer: VariableSpec['initializer']

  constructor(numUnits: number, options: UGRNNCellOptions = {}) {
    const given = checkCellOptions('UGRNNCell', numUnits, options, OPTIONS)
    const { activation = 'tanh' } = given
    super(given.name ?? 'ugrnn_cell', given.dtype, [activation])
    this.stateSize = numUnits
    this.outputSize = numUnits
    this.forgetBias = given.forgetBias ?? 1
    this.activation = activation
    this.#initializer = kernelInitializer(given.initializer)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const units = this.stateSize
    return [
      { name: 'kernel', shape: [inputSize + units, 2 * units], initializer: this.#initializer },
      { name: 'bias', shape: [2 * units], initializer: 0 },
    ]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const h = state as Value
    const [zg, zc] = graph.t.split(graph.linear([x, h], 'kernel', 'bias'), 2)
    const candidate = graph.activate(zc, this.activation)
    const next = graph.mix(graph.sigmoid(zg, this.forgetBias), h, candidate)
    return { output: next, state: next }
  }
}
