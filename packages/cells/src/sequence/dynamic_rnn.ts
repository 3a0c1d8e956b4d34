import { checkArguments, checkOptions, codedTypeError, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { CellState } from '../cell/cell_state.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import {
  LAYOUT_OPTIONS,
  runSequence,
  SEQUENCE_OPTIONS,
  type SequenceOptions,
  type SequenceResult,
} from './sequence_run.js'
import { unrolled } from './unroll.js'

interface DynamicRnnOptions<State, Training extends boolean = true>
  extends SequenceOptions<State, Training>,
    OptionsOf<typeof LAYOUT_OPTIONS> {}

const OPTIONS = { ...SEQUENCE_OPTIONS, ...LAYOUT_OPTIONS }

/**
 * TensorFlow's `dynamic_rnn`: runs a cell over a sequence held in one tensor.
 *
 * @param inputs [B,T,I], or [T,B,I] with `timeMajor`.
 * @returns outputs in the layout of the inputs, the state after each row's last step, and the tape of a training run.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
 * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`
 * @example
 * ```ts
 * import { dynamicRnn, LSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const inputs = { data: new Float32Array(2 * 5 * 3).fill(1), shape: [2, 5, 3] } // [B,T,I]
 * const { outputs, state, tape } = dynamicRnn(new LSTMCell(4), inputs, { sequenceLength: [5, 2] })
 * const gradients = tape.gradients({ outputs })
 * console.log(outputs.shape, state.h.shape, gradients.inputs.shape) // [2, 5, 4] [2, 4] [2, 5, 3]
 * ```
 */
export function dynamicRnn<State extends CellState, Training extends boolean = true>(
  cell: RNNCell<State>,
  inputs: FloatTensor,
  options: DynamicRnnOptions<State, Training> = {},
): SequenceResult<State, FloatTensor, Training> {
  const given = checkOptions<DynamicRnnOptions<unknown, boolean>>('run dynamicRnn', options, OPTIONS)
  checkArguments('run dynamicRnn', { cell }, { cell: CELL })
  return runSequence(unrolled(cell), inputs, given as typeof options, given.timeMajor ?? false)
}

/**
 * TensorFlow's `static_rnn`: runs a cell over a sequence held as a list of T tensors [B,I].
 *
 * @returns outputs as a list of T tensors, the state after each row's last step, and the tape of a training run.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_SEQUENCE_LAYOUT` for one tensor, `ERR_EMPTY_SEQUENCE`, `ERR_NOT_A_TENSOR`,
 *   `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
 * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`
 * @example
 * ```ts
 * import { BasicRNNCell, staticRnn } from '@cudnn-rnn/rnn/cells'
 *
 * const step = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { outputs, state } = staticRnn(new BasicRNNCell(4), [step, step, step])
 * console.log(outputs.length, outputs[0]?.shape, state.shape) // 3 [2, 4] [2, 4]
 * ```
 */
export function staticRnn<State extends CellState, Training extends boolean = true>(
  cell: RNNCell<State>,
  inputs: readonly FloatTensor[],
  options: SequenceOptions<State, Training> = {},
): SequenceResult<State, readonly FloatTensor[], Training> {
  const given = checkOptions<SequenceOptions<unknown, boolean>>('run staticRnn', options, SEQUENCE_OPTIONS)
  checkArguments('run staticRnn', { cell }, { cell: CELL })
  if (!Array.isArray(inputs)) {
    throw codedTypeError(
      'ERR_SEQUENCE_LAYOUT',
      'Cannot run staticRnn as inputs must be a list of tensors [B,I], one per time step: current value is not a list. Use dynamicRnn for one tensor.',
    )
  }
  return runSequence(unrolled(cell), inputs, given as typeof options)
}
