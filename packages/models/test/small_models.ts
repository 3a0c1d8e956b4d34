import type { BackendTensor } from '@cudnn-rnn/ops'
import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'

/** A float32 tensor of ones. */
export function ones(...shape: number[]): Tensor<Float32Array> {
  return { data: new Float32Array(elementCount(shape)).fill(1), shape }
}

/** A tensor of different values in ±1. */
export function floats<Data extends Float32Array | Float64Array>(
  ArrayType: { from(values: ArrayLike<number>): Data },
  ...shape: number[]
): Tensor<Data> {
  const length = elementCount(shape)
  return { data: ArrayType.from(Array.from({ length }, (_, index) => Math.sin(0.7 * index + 0.3))), shape }
}

export async function valuesOf(tensor: BackendTensor): Promise<number[]> {
  return Array.from((await tensor.read()).data)
}

/** Matches an error by its stable code. */
