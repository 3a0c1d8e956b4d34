import { checkIsObject } from '@cudnn-rnn/arguments'
import { ConvLSTMCell, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'

/**
 * TensorFlow's `Conv2DLSTMCell`: a `ConvLSTMCell` over two spatial dimensions.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export class Conv2DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv2DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_2d_lstm_cell', convNdims: 2 })
  }
}
