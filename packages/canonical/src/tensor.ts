import { codedTypeError, describeValue } from '@cudnn-rnn/arguments'

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

/** Number of elements of a tensor of this shape: 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw notAShape(shape)
  let count = 1
  for (const size of shape) {
    if (typeof size !== 'number') throw notAShape(shape)
    count *= size
  }
  return count
}

function notAShape(shape: unknown): TypeError {
  return codedTypeError(
    'ERR_INVALID_OPTION_TYPE',
    `Cannot count elements as shape must be an array of integers: current value is ${describeValue(shape)}`,
  )
}
