import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { checkIsHostTensor, checkTensor, tensorDType } from '@cudnn-rnn/ops/executor'

/** The lines of a tensor along one axis, and the line of the element at a place. */
interface AxisLines {
  readonly count: number
  lineOf(place: number): number
}

/** Lines along `axis` (negative counts from the end). Throws RangeError `ERR_AXIS`, `ERR_SHAPE` for an empty axis. */
export function axisLines(action: string, shape: readonly number[], axis = -1): AxisLines {
  const index = Number.isInteger(axis) ? (axis < 0 ? shape.length + axis : axis) : -1
  const length = shape[index]
  if (length === undefined) {
    throw codedRangeError(
      'ERR_AXIS',
      `Cannot ${action} as axis must be an integer in ${-shape.length}..${shape.length - 1}: current value is ${describeValue(axis)}`,
      { axis, rank: shape.length },
    )
  }
  if (length === 0) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as axis ${index} must not be empty: current shape is [${shape.join(',')}]`,
      { actual: shape },
    )
  }
  const stride = elementCount(shape.slice(index + 1))
  return {
    count: elementCount(shape) / length,
    lineOf: (place) => Math.floor(place / (stride * length)) * stride + (place % stride),
  }
}

/**
 * A host tensor of float32 or float64 as it was read here, once, and its dtype.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError `ERR_SHAPE`, `ERR_TENSOR_TRANSFERRED`
 */
export function checkFloats(
  action: string,
  name: string,
  given: FloatTensor,
): FloatTensor & { readonly dtype: FloatDType } {
  const tensor = checkIsHostTensor(action, name, given)
  const dtype = tensorDType(tensor) === 'float64' ? 'float64' : 'float32'
  const { data, shape } = checkTensor(action, name, tensor, { dtype }) as FloatTensor
  return { data, shape, dtype }
}

export function withoutAxis(shape: readonly number[], axis = -1): number[] {
  return shape.filter((_, index) => index !== (axis < 0 ? shape.length + axis : axis))
}

/** Zeros with the element type of `like`. */
export function emptyLike(like: FloatArray, length = like.length): FloatArray {
  return arrayTypeOf(like) === 'Float32Array' ? new Float32Array(length) : new Float64Array(length)
}

export type FloatTensor = Tensor<FloatArray>

/** The sum of all elements, in double precision. */
export function elementSum(data: FloatArray): number {
  let sum = 0
  for (let k = 0; k < data.length; k++) sum += data[k]
  return sum
}
