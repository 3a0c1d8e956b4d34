import { FINITE, FLAG, nullable, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import {
  CELL_OPTIONS,
  type CellOptions,
  checkCellOptions,
  clipBound,
  PREACTIVATION_CLIP,
  type PreactivationClip,
} from '../cell/cell_options.js'
import { type LSTMRule, PLAIN_LSTM } from './lstm_rule.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  ...PREACTIVATION_CLIP,
  /** Added to the forget gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
  /** Bound of the cell state, which the backward ignores; null, 0 and below mean none. Default null. */
  cellClip: nullable(FINITE),
  /** w_i_diag, w_f_diag, w_o_diag [H]: the gates see the cell state. Default false. */
  usePeephole: optional(FLAG),
}

/** Options of the block operations' classes, `LSTMBlockCell` and `LSTMBlockFusedCell`. */
export interface LSTMBlockOptions extends CellOptions, PreactivationClip, OptionsOf<typeof OPTIONS> {}

/** Checks the options and states the rule of the block operations (BlockLSTM, lstm_ops.cc). */
export function lstmBlockRule(className: string, numUnits: number, options: LSTMBlockOptions): LSTMRule {
  const given = checkCellOptions(className, numUnits, options, OPTIONS)
  const cellClip = given.cellClip ?? -1
  return {
    ...PLAIN_LSTM,
    numUnits,
    forgetBias: given.forgetBias ?? 1,
    cellClip: cellClip > 0 ? cellClip : Number.POSITIVE_INFINITY,
    usePeepholes: given.usePeephole ?? false,
    preactivationClip: clipBound(given.preactivationClip),
  }
}
