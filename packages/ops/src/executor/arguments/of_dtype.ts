import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'

/** A floating-point tensor with elements of `dtype`: itself, or converted. */
export function ofDtype(dtype: FloatDType, tensor: Tensor<FloatArray>): Tensor<FloatArray> {
  const { array } = DTYPES[dtype]
  return tensor.data instanceof array ? tensor : { data: array.from(tensor.data), shape: tensor.shape }
}
