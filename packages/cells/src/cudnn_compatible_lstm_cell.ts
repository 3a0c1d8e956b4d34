import { type CellOptions, checkCellOptions } from './cell_options.js'
import { PLAIN_LSTM } from './lstm_rule.js'
import { LSTMStepCell } from './lstm_step_cell.js'

/**
 * TensorFlow's `CudnnCompatibleLSTMCell`: computes the same as a layer of `CudnnLSTM`, without forget bias and clip;
 * variables `kernel` [I+H,4H] and `bias` (the sum of cuDNN's two).
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class CudnnCompatibleLSTMCell extends LSTMStepCell {
  constructor(numUnits: number, options: CellOptions = {}) {
    checkCellOptions('CudnnCompatibleLSTMCell', numUnits, options)
    super(options.name ?? 'cudnn_compatible_lstm_cell', options.dtype, { ...PLAIN_LSTM, numUnits, forgetBias: 0 })
  }
}
