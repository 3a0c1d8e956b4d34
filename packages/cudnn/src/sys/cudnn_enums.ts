import type { BiasMode, CellMode, Direction, RnnDescriptor } from '@cudnn-rnn/canonical'

// The numbers of cuDNN's and cuBLAS's enumerations, and the one translation of TensorFlow's words into cuDNN's.

/** cudnnRNNAlgo_t */
export const ALGORITHMS = Object.freeze({
  standard: 0,
  persist_static: 1,
  persist_dynamic: 2,
  persist_static_small_h: 3,
} as const)

export type Algorithm = keyof typeof ALGORITHMS

/** cudnnRNNMode_t */
export const CELL_MODE_NUMBERS: Readonly<Record<CellMode, number>> = { rnn_relu: 0, rnn_tanh: 1, lstm: 2, gru: 3 }

/** cudnnRNNBiasMode_t */
export const BIAS_MODE_NUMBERS: Readonly<Record<BiasMode, number>> = {
  none: 0,
  single_input: 1,
  double: 2,
  single_recurrent: 3,
}

/** cudnnDirectionMode_t */
export const DIRECTION_NUMBERS: Readonly<Record<Direction, number>> = { unidirectional: 0, bidirectional: 1 }

/** cudnnRNNInputMode_t */
export const INPUT_MODE_NUMBERS: Readonly<Record<RnnDescriptor['inputMode'], number>> = {
  linear_input: 0,
  skip_input: 1,
}

/** cudnnForwardMode_t */
export const FORWARD_MODE = Object.freeze({ inference: 0, training: 1 } as const)

/** cudnnRNNDataLayout_t: [T,B,·] with room for T steps of every row. */
export const SEQ_MAJOR_UNPACKED = 0

/** auxFlags: rows may be shorter than T. */
export const PADDED_IO_DISABLED = 0
export const PADDED_IO_ENABLED = 1

/** cudnnWgradMode_t */
export const WGRAD_ADD = 0

/** cudnnCTCLossAlgo_t: the other one is not offered by the v8 functions. */
export const CTC_LOSS_ALGO_DETERMINISTIC = 0

/** cudnnDataType_t */
export const DATA_TYPES = Object.freeze({ float32: 0, float64: 1, float16: 2, bfloat16: 9 } as const)

/** cudnnMathType_t */
export const MATH_TYPES = Object.freeze({ default: 0, tensorOp: 1, fma: 3 } as const)

/** cudaDataType of cuBLAS operands */
export const CUBLAS_TYPES = Object.freeze({ float32: 0, float64: 1, float16: 2, bfloat16: 14 } as const)

/** cublasComputeType_t */
export const CUBLAS_COMPUTE = Object.freeze({
  float32: 68,
  float64: 70,
  float32Fast16: 74,
  float32FastBfloat16: 75,
  float32FastTf32: 77,
} as const)

/** cublasOperation_t */
export const CUBLAS_OP = Object.freeze({ none: 0, transpose: 1 } as const)
