import { checkIsObject } from '@cudnn-rnn/arguments'
import { ConvLSTMCell, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'

/**
 * TensorFlow's `Conv1DLSTMCell`: a `ConvLSTMCell` over one spatial dimension.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export class Conv1DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv1DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_1d_lstm_cell', convNdims: 1 })
  }
}
