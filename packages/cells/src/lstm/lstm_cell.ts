import { FINITE, FLAG, nullable, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { ACTIVATION } from '../cell/activation.js'
import {
  CELL_OPTIONS,
  type CellOptions,
  CLIP,
  checkCellOptions,
  clipBound,
  GATE_ACTIVATIONS,
  type GateActivations,
  PREACTIVATION_CLIP,
  type PreactivationClip,
  SIZE,
} from '../cell/cell_options.js'
import { activationsOf, PLAIN_LSTM } from './lstm_rule.js'
import { LSTMStepCell } from './lstm_step_cell.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  ...PREACTIVATION_CLIP,
  ...GATE_ACTIVATIONS,
  /** w_i_diag, w_f_diag, w_o_diag [H]: the gates see the cell state. Default false. */
  usePeepholes: optional(FLAG),
  /** Bound of the cell state, > 0; its gradient is `clip_by_value`'s. Default null, none. */
  cellClip: CLIP,
  /** P: h and the output are projected by `projection/kernel` [H,P]. Default null, none. */
  numProj: nullable(SIZE),
  /** Bound of the projected h, > 0. Default null, none. */
  projClip: CLIP,
  /** Added to the forget gate, never stored; 0 where the variables come from a CudnnLSTM. Default 1. */
  forgetBias: optional(FINITE),
  /** State activation of the new cell state, before the output gate. Default: the candidate's. */
  stateActivation: ACTIVATION,
}

interface LSTMCellOptions extends CellOptions, PreactivationClip, GateActivations, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `LSTMCell`: variables `kernel` [I+P,4H] in blocks i,j,f,o, `bias`, peepholes, projection.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { LSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new LSTMCell(4, { numProj: 2 })
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 2] [2, 4] [2, 2]
 * ```
 */
export class LSTMCell extends LSTMStepCell {
  constructor(numUnits: number, options: LSTMCellOptions = {}) {
    const given = checkCellOptions('LSTMCell', numUnits, options, OPTIONS)
    const numProj = given.numProj ?? null
    super(given.name ?? 'lstm_cell', given.dtype, {
      ...PLAIN_LSTM,
      numUnits,
      forgetBias: given.forgetBias ?? 1,
      cellClip: clipBound(given.cellClip),
      clipGradient: 'zero_outside',
      usePeepholes: given.usePeepholes ?? false,
      numProj,
      // A projection clip without a projection does nothing, as in TensorFlow.
      projClip: clipBound(numProj === null ? null : given.projClip),
      preactivationClip: clipBound(given.preactivationClip),
      ...activationsOf(given),
    })
  }
}
