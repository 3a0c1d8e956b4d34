import { FINITE, optional } from '@cudnn-rnn/arguments'
import type { Activation } from './activation.js'
import { ACTIVATION, type CellOptions, checkCellOptions } from './cell_options.js'
import { PLAIN_LSTM } from './lstm_rule.js'
import { LSTMStepCell } from './lstm_step_cell.js'

/** Options of {@link BasicLSTMCell}. */
export interface BasicLSTMCellOptions extends CellOptions {
  /** Added to the forget gate, never stored. Default 1. */
  readonly forgetBias?: number | undefined
  /** Default tanh. */
  readonly activation?: Activation | undefined
}

/**
 * TensorFlow's `BasicLSTMCell`: an LSTM without peepholes, clip and projection; variables `kernel` [I+H,4H], `bias`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class BasicLSTMCell extends LSTMStepCell {
  constructor(numUnits: number, options: BasicLSTMCellOptions = {}) {
    checkCellOptions('BasicLSTMCell', numUnits, options, { forgetBias: optional(FINITE), activation: ACTIVATION })
    super(options.name ?? 'basic_lstm_cell', options.dtype, {
      ...PLAIN_LSTM,
      numUnits,
      forgetBias: options.forgetBias ?? 1,
      activation: options.activation ?? 'tanh',
    })
  }
}
