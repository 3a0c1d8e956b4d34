import { checkIsObject } from '@cudnn-rnn/arguments'
import { ConvLSTMCell, type ConvNDLSTMCellOptions } from './conv_lstm_cell.js'

/**
 * TensorFlow's `Conv3DLSTMCell`: a `ConvLSTMCell` over three spatial dimensions.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { Conv3DLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new Conv3DLSTMCell({ inputShape: [2, 2, 2, 1], outputChannels: 2, kernelShape: [2, 2, 2] })
 * const input = { data: new Float32Array(2 * 8).fill(1), shape: [2, 8] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 16] [2, 16] [2, 16]
 * ```
 */
export class Conv3DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv3DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_3d_lstm_cell', convNdims: 3 })
  }
}
