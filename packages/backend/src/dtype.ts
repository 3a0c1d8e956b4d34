import { arrayTypeOf } from '@cudnn-rnn/canonical'

/** Element types of backend tensors. Networks compute in a floating type; `int32` holds ids, labels and lengths. */
export const DTYPES = Object.freeze({
  float32: { bytes: 4, array: Float32Array },
  float64: { bytes: 8, array: Float64Array },
  int32: { bytes: 4, array: Int32Array },
} as const)

export type DType = keyof typeof DTYPES

/** The types an executor can be opened with. */
export type FloatDType = Exclude<DType, 'int32'>

const DTYPE_OF_ARRAY: ReadonlyMap<string | undefined, DType> = new Map(
  Object.entries(DTYPES).map(([dtype, { array }]) => [array.name, dtype as DType]),
)

/**
 * The dtype of a host array, or undefined for an array type outside the contract.
 *
 * @example
 * ```ts
 * import { dtypeOf } from '@cudnn-rnn/backend'
 *
 * console.log(dtypeOf(new Float32Array(1)), dtypeOf(new Int32Array(1)), dtypeOf(new Uint8Array(1)))
 * // float32 int32 undefined
 * ```
 */
export function dtypeOf(data: unknown): DType | undefined {
  return DTYPE_OF_ARRAY.get(arrayTypeOf(data))
}
