import { checkIsObject } from '@cudnn-rnn/arguments'
import { ConvLSTMCell, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'

/**
 * TensorFlow's `Conv1DLSTMCell`: a `ConvLSTMCell` over one spatial dimension.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { Conv1DLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new Conv1DLSTMCell({ inputShape: [5, 2], outputChannels: 3, kernelShape: [3] })
 * const input = { data: new Float32Array(2 * 10).fill(1), shape: [2, 10] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 15] [2, 15] [2, 15]
 * ```
 */
export class Conv1DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv1DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_1d_lstm_cell', convNdims: 1 })
  }
}
