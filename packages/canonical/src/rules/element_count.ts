import { codedTypeError } from './coded_error.js'
import { describeValue } from './described_value.js'

/**
 * Number of elements of a tensor of this shape: 1 for a scalar.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE` for anything but an array of numbers
 * @example
 * ```ts
 * import { elementCount } from '@cudnn-rnn/rnn/canonical'
 *
 * console.log(elementCount([20, 4, 8]), elementCount([])) // 640 1
 * ```
 */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw notAShape(shape)
  let count = 1
  for (let axis = 0; axis < shape.length; axis++) {
    const size = shape[axis]
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
