import { checkArguments, checkOptions, FLAG, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { CellState } from '../cell/cell_state.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { FusedWrapper } from './fused_wrapper.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import type { SequenceOperands, SequencePass } from '../cell/sequence_pass.js'
import { unrolled } from './unroll.js'

const OPTIONS = {
  /** Default false. */
  useDynamicRnn: optional(FLAG),
}

interface FusedRNNCellAdaptorOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `FusedRNNCellAdaptor`: a step cell with the interface of a fused one.
 *
 * `useDynamicRnn` chooses between TensorFlow's two graph builders; here one loop serves both, so it changes no number.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { BasicLSTMCell, FusedRNNCellAdaptor } from '@cudnn-rnn/rnn/cells'
 *
 * const layer = new FusedRNNCellAdaptor(new BasicLSTMCell(4))
 * const inputs = { data: new Float32Array(5 * 2 * 3).fill(1), shape: [5, 2, 3] } // [T,B,I]
 * const { outputs, state } = layer.call(inputs, { sequenceLength: [5, 2] })
 * console.log(outputs.shape, state.c.shape) // [5, 2, 4] [2, 4]
 * ```
 */
export class FusedRNNCellAdaptor<State extends CellState> extends FusedWrapper<State, RNNCell<State>> {
  readonly useDynamicRnn: boolean

  constructor(cell: RNNCell<State>, options: FusedRNNCellAdaptorOptions = {}) {
    checkArguments('build FusedRNNCellAdaptor', { cell }, { cell: CELL })
    const given = checkOptions('build FusedRNNCellAdaptor', options, OPTIONS)
    super('FusedRNNCellAdaptor', cell)
    this.useDynamicRnn = given.useDynamicRnn ?? false
  }

  /** The cell's own variables. */
  get variables(): VariableMap {
    return this.cell.variables
  }

  override pass(sequence: SequenceOperands<State>): SequencePass<State> {
    return unrolled(this.cell).pass(sequence)
  }
}
