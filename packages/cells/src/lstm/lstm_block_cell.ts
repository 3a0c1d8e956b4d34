import { type LSTMBlockOptions, lstmBlockRule } from './lstm_block_options.js'
import { LSTMStepCell } from './lstm_step_cell.js'

/**
 * TensorFlow's `LSTMBlockCell`: variables `kernel` [I+H,4H] in blocks i,c,f,o, `bias`, peepholes; the same numbers as
 * `LSTMCell`, except that the backward passes the gradient through the clip.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { LSTMBlockCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new LSTMBlockCell(4, { usePeephole: true })
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class LSTMBlockCell extends LSTMStepCell {
  constructor(numUnits: number, options: LSTMBlockOptions = {}) {
    const rule = lstmBlockRule('LSTMBlockCell', numUnits, options)
    super(options.name ?? 'lstm_cell', options.dtype, rule)
  }
}
