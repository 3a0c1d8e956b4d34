import { checkIsObject } from '@cudnn-rnn/canonical/rules'
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

/**
 * TensorFlow's `Conv2DLSTMCell`: a `ConvLSTMCell` over two spatial dimensions.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { Conv2DLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new Conv2DLSTMCell({ inputShape: [4, 4, 1], outputChannels: 2, kernelShape: [3, 3] })
 * const input = { data: new Float32Array(2 * 16).fill(1), shape: [2, 16] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 32] [2, 32] [2, 32]
 * ```
 */
export class Conv2DLSTMCell extends ConvLSTMCell {
  constructor(options: ConvNDLSTMCellOptions) {
    checkIsObject('build Conv2DLSTMCell', 'options', options)
    super({ ...options, name: options.name ?? 'conv_2d_lstm_cell', convNdims: 2 })
  }
}

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
