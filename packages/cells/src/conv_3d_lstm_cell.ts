import { checkIsObject } from '@cudnn-rnn/arguments'
import { ConvLSTMCell, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'

/**
 * TensorFlow's `Conv3DLSTMCell`: a `ConvLSTMCell` over three spatial dimensions.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export class Conv3DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv3DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_3d_lstm_cell', convNdims: 3 })
  }
}
