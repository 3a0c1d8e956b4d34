import { FINITE, FLAG, nullable, optional } from '@cudnn-rnn/arguments'
import { type CellOptions, CLIP, checkCellOptions, clipBound, type PreactivationClip } from './cell_options.js'
import { type LSTMRule, PLAIN_LSTM } from './lstm_rule.js'

/** Options of the block operations' classes, `LSTMBlockCell` and `LSTMBlockFusedCell`. */
export interface LSTMBlockOptions extends CellOptions, PreactivationClip {
  /** Added to the forget gate, never stored. Default 1. */
  readonly forgetBias?: number | undefined
  /** Bound of the cell state, which the backward ignores; null, 0 and below mean none. Default null. */
  readonly cellClip?: number | null | undefined
  /** w_i_diag, w_f_diag, w_o_diag [H]: the gates see the cell state. Default false. */
  readonly usePeephole?: boolean | undefined
}

const OPTIONS = {
  forgetBias: optional(FINITE),
  cellClip: nullable(FINITE),
  usePeephole: optional(FLAG),
  preactivationClip: CLIP,
}

/** Checks the options and states the rule of the block operations (BlockLSTM, lstm_ops.cc). */
export function lstmBlockRule(className: string, numUnits: number, options: LSTMBlockOptions): LSTMRule {
  checkCellOptions(className, numUnits, options, OPTIONS)
  const cellClip = options.cellClip ?? -1
  return {
    ...PLAIN_LSTM,
    numUnits,
    forgetBias: options.forgetBias ?? 1,
    cellClip: cellClip > 0 ? cellClip : Number.POSITIVE_INFINITY,
    usePeepholes: options.usePeephole ?? false,
    preactivationClip: clipBound(options.preactivationClip),
  }
}
