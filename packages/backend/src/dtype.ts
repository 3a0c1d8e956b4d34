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

/** The dtype of a host array, or undefined for an array the contract does not know. */
export function dtypeOf(data: unknown): DType | undefined {
  const type = arrayTypeOf(data)
  for (const [dtype, { array }] of Object.entries(DTYPES)) {
    if (type === array.name) return dtype as DType
  }
  return undefined
}
