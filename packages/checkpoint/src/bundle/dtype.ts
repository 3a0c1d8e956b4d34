import { arrayTypeOf } from '@cudnn-rnn/canonical/rules'

/** A dtype of a checkpoint: TensorFlow's `DataType` number, bytes of one element, and the array that holds elements. */
interface DTypeRow {
  readonly id: number
  /** 0 for strings, whose elements have a length each. */
  readonly bytes: number
  /** Values of the array per element: 2 for complex numbers (real, imaginary). */
  readonly perElement: number
  readonly array: NumericArrayConstructor | undefined
}

/** Every dtype that can be read and written (tensorflow/core/framework/types.proto). */
export const DTYPES = Object.freeze({
  float32: row(1, 4, Float32Array),
  float64: row(2, 8, Float64Array),
  int32: row(3, 4, Int32Array),
  uint8: row(4, 1, Uint8Array),
  int16: row(5, 2, Int16Array),
  int8: row(6, 1, Int8Array),
  /** Elements are byte strings. */
  string: { id: 7, bytes: 0, perElement: 1, array: undefined },
  complex64: { id: 8, bytes: 8, perElement: 2, array: Float32Array },
  int64: row(9, 8, BigInt64Array),
  /** One byte each: 0 or 1. */
  bool: row(10, 1, Uint8Array),
  /** Bit patterns: the upper half of a float32. */
  bfloat16: row(14, 2, Uint16Array),
  uint16: row(17, 2, Uint16Array),
  complex128: { id: 18, bytes: 16, perElement: 2, array: Float64Array },
  /** Bit patterns of IEEE binary16. */
  float16: row(19, 2, Uint16Array),
  uint32: row(22, 4, Uint32Array),
  uint64: row(23, 8, BigUint64Array),
} satisfies Record<string, DTypeRow>)

export type CheckpointDType = keyof typeof DTYPES

export type NumericArray =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint8Array
  | Int16Array
  | Int8Array
  | BigInt64Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array

type NumericArrayConstructor = new (buffer: ArrayBuffer, offset?: number, length?: number) => NumericArray

function row(id: number, bytes: number, array: NumericArrayConstructor) {
  return { id, bytes, perElement: 1, array } as const
}

/** The dtype of a `DataType` number, or undefined. */
export function dtypeOfId(id: number): CheckpointDType | undefined {
  return (Object.keys(DTYPES) as CheckpointDType[]).find((dtype) => DTYPES[dtype].id === id)
}

/**
 * The dtype that a typed array is named for: `uint16` for a Uint16Array, which also holds the bits of float16 and bfloat16.
 * Undefined for other values.
 *
 * @example
 * ```ts
 * import { dtypeOfArray } from '@cudnn-rnn/rnn/checkpoint'
 *
 * console.log(dtypeOfArray(new Float32Array(1)), dtypeOfArray(new BigInt64Array(1))) // float32 int64
 * ```
 */
export function dtypeOfArray(data: unknown): CheckpointDType | undefined {
  const arrayType = arrayTypeOf(data)
  const name = arrayType?.replace(/^Big|Array$/g, '').toLowerCase() as CheckpointDType
  return Object.hasOwn(DTYPES, name) && DTYPES[name].array?.name === arrayType ? name : undefined
}
