import { invalidOption } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { CUBLAS_COMPUTE, CUBLAS_TYPES, DATA_TYPES, MATH_TYPES } from '../sys/cudnn_enums.js'

/**
 * The arithmetic of a float32 executor. `float32` is true single precision; `tf32` lets tensor cores round products to
 * ten bits of mantissa; `tf32x3` is `float32` but for the executor's own kernels, which may multiply as three products of
 * TF32; `float16` and `bfloat16` run the recurrent networks on 16-bit copies with float32 accumulation,
 * while tensors, parameters and optimizer slots stay float32.
 */
export type Precision = 'float32' | 'tf32' | 'tf32x3' | 'float16' | 'bfloat16'

/** Everything a precision decides, in the numbers of cuDNN and cuBLAS. */
export interface Arithmetic {
  readonly precision: Precision | 'float64'
  /** cudnnDataType_t of sequences, states and weights. */
  readonly dataType: number
  /** cudnnDataType_t of sums. */
  readonly mathPrecision: number
  readonly mathType: number
  /** Bytes of one element that cuDNN sees. */
  readonly bytes: number
  /** The 16-bit type that float32 tensors are converted to for cuDNN, if any. */
  readonly half: 'float16' | 'bfloat16' | undefined
  readonly cublasType: number
  readonly cublasCompute: number
}

/**
 * CUDNN_FMA_MATH keeps cuDNN off the tensor cores; CUDNN_DEFAULT_MATH allows them TF32 on float32 data. The corresponding
 * pair of cuBLAS is CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32.
 */
const FLOAT32 = {
  dataType: DATA_TYPES.float32,
  mathPrecision: DATA_TYPES.float32,
  bytes: 4,
  half: undefined,
  cublasType: CUBLAS_TYPES.float32,
} as const

function halfOf(half: 'float16' | 'bfloat16', cublasCompute: number): Arithmetic {
  const types = { precision: half, half, dataType: DATA_TYPES[half], bytes: 2 }
  return { ...FLOAT32, ...types, mathType: MATH_TYPES.tensorOp, cublasCompute }
}

const SINGLE = { ...FLOAT32, mathType: MATH_TYPES.fma, cublasCompute: CUBLAS_COMPUTE.float32 } as const

const ARITHMETICS: Readonly<Record<Arithmetic['precision'], Arithmetic>> = {
  float32: { ...SINGLE, precision: 'float32' },
  tf32x3: { ...SINGLE, precision: 'tf32x3' },
  tf32: {
    ...FLOAT32,
    precision: 'tf32',
    mathType: MATH_TYPES.default,
    cublasCompute: CUBLAS_COMPUTE.float32FastTf32,
  },
  float16: halfOf('float16', CUBLAS_COMPUTE.float32Fast16),
  bfloat16: halfOf('bfloat16', CUBLAS_COMPUTE.float32FastBfloat16),
  float64: {
    precision: 'float64',
    dataType: DATA_TYPES.float64,
    mathPrecision: DATA_TYPES.float64,
    bytes: 8,
    half: undefined,
    mathType: MATH_TYPES.default,
    cublasType: CUBLAS_TYPES.float64,
    cublasCompute: CUBLAS_COMPUTE.float64,
  },
}

/**
 * The arithmetic for `dtype` at `precision` (default: the dtype's).
 *
 * @throws RangeError `ERR_INVALID_OPTION` for an unknown precision, or one other than the dtype's with float64
 */
export function arithmeticOf(dtype: FloatDType, precision: Precision | undefined): Arithmetic {
  if (dtype === 'float64' && precision === undefined) return ARITHMETICS.float64
  const names = dtype === 'float64' ? [] : (['float32', 'tf32', 'tf32x3', 'float16', 'bfloat16'] as const)
  const found = names.find((name) => name === (precision ?? 'float32'))
  if (found !== undefined) return ARITHMETICS[found]
  throw invalidOption(
    'open the cuDNN backend',
    'precision',
    `${names.join(', ') || 'left out'} for ${dtype}`,
    precision,
  )
}
