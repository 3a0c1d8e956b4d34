import { type LSTMBlockOptions, lstmBlockRule } from './lstm_block_options.js'
import { LSTMStepCell } from './lstm_step_cell.js'

/**
 * TensorFlow's `LSTMBlockCell`: variables `kernel` [I+H,4H] in blocks i,c,f,o, `bias`, peepholes; the same numbers as
 * `LSTMCell`, except that the backward passes the gradient through the clip.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class LSTMBlockCell extends LSTMStepCell {
  constructor(numUnits: number, options: LSTMBlockOptions = {}) {
    const rule = lstmBlockRule('LSTMBlockCell', numUnits, options)
    super(options.name ?? 'lstm_cell', options.dtype, rule)
  }
}
