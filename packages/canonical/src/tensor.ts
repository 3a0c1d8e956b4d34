export { elementCount } from '@cudnn-rnn/canonical/rules'

/** Element types of parameters and sequences. Labels, ids and lengths are int32 and never parameters. */
export type FloatArray = Float32Array | Float64Array

/** A host tensor: row-major elements and their shape; `shape: []` is a scalar. */
export interface Tensor<Data = FloatArray | Int32Array> {
  readonly data: Data
  readonly shape: readonly number[]
}

/** Canonical tensors of a network, in the order of {@link paramRegions}. */
export interface CanonicalParams<Data extends FloatArray = FloatArray> {
  readonly weights: readonly Tensor<Data>[]
  readonly biases: readonly Tensor<Data>[]
}
