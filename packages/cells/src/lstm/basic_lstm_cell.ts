import { FINITE, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import { ACTIVATION } from '../cell/activation.js'
import { CELL_OPTIONS, type CellOptions, checkCellOptions } from '../cell/cell_options.js'
import { activationsOf, PLAIN_LSTM } from './lstm_rule.js'
import { LSTMStepCell } from './lstm_step_cell.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** Added to the forget gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
  /** Default tanh. */
  activation: ACTIVATION,
}

interface BasicLSTMCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `BasicLSTMCell`: an LSTM without peepholes, clip and projection; variables `kernel` [I+H,4H], `bias`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { BasicLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new BasicLSTMCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class BasicLSTMCell extends LSTMStepCell {
  constructor(numUnits: number, options: BasicLSTMCellOptions = {}) {
    const given = checkCellOptions('BasicLSTMCell', numUnits, options, OPTIONS)
    super(given.name ?? 'basic_lstm_cell', given.dtype, {
      ...PLAIN_LSTM,
      numUnits,
      forgetBias: given.forgetBias ?? 1,
      ...activationsOf(given),
    })
  }
}

/**
 * TensorFlow's `CudnnCompatibleLSTMCell`: computes the same as a layer of `CudnnLSTM`, without forget bias and clip;
 * variables `kernel` [I+H,4H] and `bias` (the sum of cuDNN's two).
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { CudnnCompatibleLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new CudnnCompatibleLSTMCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class CudnnCompatibleLSTMCell extends LSTMStepCell {
  constructor(numUnits: number, options: CellOptions = {}) {
    const given = checkCellOptions('CudnnCompatibleLSTMCell', numUnits, options, CELL_OPTIONS)
    super(given.name ?? 'cudnn_compatible_lstm_cell', given.dtype, { ...PLAIN_LSTM, numUnits, forgetBias: 0 })
  }
}
