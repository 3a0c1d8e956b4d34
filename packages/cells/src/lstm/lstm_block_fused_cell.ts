import { checkOptions } from '@cudnn-rnn/canonical/rules'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import { CellVariables, type VariableSpec } from '../cell/cell_variables.js'
import type { FusedRNNCell } from '../sequence/fused_wrapper.js'
import { type LSTMBlockOptions, lstmBlockRule } from './lstm_block_options.js'
import { lstmPass } from './lstm_pass.js'
import { hiddenSize, type LSTMRule, lstmStateSize, lstmVariableSpecs } from './lstm_rule.js'
import type { SequenceInput } from '../sequence/sequence_layout.js'
import type { SequenceOperands, SequencePass } from '../cell/rnn_cell.js'
import { runSequence, SEQUENCE_OPTIONS, type SequenceOptions, type SequenceResult } from '../sequence/sequence_run.js'

/**
 * TensorFlow's `LSTMBlockFusedCell`: a whole sequence in one call, the input side of all steps in one product. Variables
 * as `LSTMBlockCell`'s, but in the scope `lstm_fused_cell`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { LSTMBlockFusedCell } from '@cudnn-rnn/rnn/cells'
 *
 * const layer = new LSTMBlockFusedCell(4)
 * const inputs = { data: new Float32Array(5 * 2 * 3).fill(0.1), shape: [5, 2, 3] } // [T,B,I]
 * const { outputs, state, tape } = layer.call(inputs, { sequenceLength: [5, 2] })
 * const gradients = tape.gradients({ outputs, state })
 * console.log(gradients.variables.get('kernel')?.shape) // [7, 16]
 * ```
 */
export class LSTMBlockFusedCell extends CellVariables implements FusedRNNCell<LSTMStateTuple> {
  readonly rule: LSTMRule

  constructor(numUnits: number, options: LSTMBlockOptions = {}) {
    const rule = lstmBlockRule('LSTMBlockFusedCell', numUnits, options)
    super(options.name ?? 'lstm_fused_cell', options.dtype)
    this.rule = Object.freeze(rule)
  }

  get stateSize(): LSTMStateTuple<number> {
    return lstmStateSize(this.rule)
  }

  get outputSize(): number {
    return hiddenSize(this.rule)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return lstmVariableSpecs(this.rule, inputSize)
  }

  /**
   * @param inputs [T,B,I], or a list of T tensors [B,I].
   * @returns outputs in the form of the inputs, the state after each row's last step, and the tape of a training call.
   * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`, `ERR_EMPTY_SEQUENCE`
   * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`
   */
  call<Sequence extends SequenceInput, Training extends boolean = true>(
    inputs: Sequence,
    options: SequenceOptions<LSTMStateTuple, Training> = {},
  ): SequenceResult<LSTMStateTuple, Sequence, Training> {
    const given = checkOptions<SequenceOptions<unknown, boolean>>(`run ${this.name}`, options, SEQUENCE_OPTIONS)
    return runSequence(this, inputs, given as typeof options)
  }

  /** The pass itself, on arguments that {@link call} has checked; for wrappers. */
  pass(sequence: SequenceOperands<LSTMStateTuple>): SequencePass<LSTMStateTuple> {
    return lstmPass(this.rule, this.variables, sequence)
  }
}
