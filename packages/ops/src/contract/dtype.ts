/** Element types of backend tensors. Networks compute in a floating type; `int32` holds ids, labels and lengths. */
export const DTYPES = Object.freeze({
  float32: { bytes: 4, array: Float32Array },
  float64: { bytes: 8, array: Float64Array },
  int32: { bytes: 4, array: Int32Array },
} as const)

export type DType = keyof typeof DTYPES

/** The types an executor can be opened with. */
export type FloatDType = Exclude<DType, 'int32'>
