import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { NestedNumbers } from '@cudnn-rnn/ops'
import { dtypeOf } from './dtype_of.js'
import { checkDimensions } from './tensor_arguments.js'

const ACTION = 'make a tensor'
const DEEPEST = 64

/**
 * A host tensor of nested lists of numbers (float32), or of a typed array, which is not copied.
 *
 * @param shape default: the lists' shape, or the number of elements.
 * @throws RangeError `ERR_SHAPE` if the elements do not fill the shape, or lists of one depth differ in length; TypeError
 *   `ERR_NOT_A_TENSOR`, `ERR_DTYPE`
 * @example
 * ```ts
 * import { tensor } from '@cudnn-rnn/rnn'
 *
 * console.log(tensor([[1, 2, 3], [4, 5, 6]]).shape, tensor(Int32Array.of(1, 2, 3, 4), [2, 2]).shape) // [2, 3] [2, 2]
 * ```
 */
export function tensor<Data extends FloatArray | Int32Array>(data: Data, shape?: readonly number[]): Tensor<Data>
export function tensor(nested: NestedNumbers, shape?: readonly number[]): Tensor<Float32Array>
export function tensor(
  given: NestedNumbers | FloatArray | Int32Array,
  shape?: readonly number[],
): Tensor<FloatArray | Int32Array> {
  const { data, own } = typed(given)
  if (shape === undefined) return { data, shape: own }
  const dimensions = checkDimensions(ACTION, shape)
  if (elementCount(dimensions) === data.length) return { data, shape: dimensions }
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${ACTION} as shape [${dimensions.join(',')}] must have ${data.length} elements: current number is ${elementCount(dimensions)}`,
    { expected: data.length, actual: dimensions },
  )
}

/**
 * A host tensor (float32) of one number.
 *
 * @throws RangeError `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`
 * @example
 * ```ts
 * import { full } from '@cudnn-rnn/rnn/train'
 *
 * console.log(full([2, 2], 0.5).data) // [0.5, 0.5, 0.5, 0.5]
 * ```
 */
export function full(shape: readonly number[], value: number): Tensor<Float32Array> {
  const dimensions = checkDimensions(ACTION, shape)
  if (typeof value !== 'number') throw notNumbers(value)
  return { data: new Float32Array(elementCount(dimensions)).fill(value), shape: dimensions }
}

/**
 * A host tensor (float32) of zeros.
 *
 * @throws RangeError `ERR_SHAPE`
 * @example
 * ```ts
 * import { zeros } from '@cudnn-rnn/rnn/train'
 *
 * console.log(zeros([1, 3]).data) // [0, 0, 0]
 * ```
 */
export function zeros(shape: readonly number[]): Tensor<Float32Array> {
  return full(shape, 0)
}

function typed(given: unknown): { readonly data: FloatArray | Int32Array; readonly own: readonly number[] } {
  const type = arrayTypeOf(given)
  if (type === undefined) {
    const own = shapeOf(given, 0)
    const numbers: number[] = []
    collect(given, own, numbers)
    return { data: Float32Array.from(numbers), own }
  }
  if (dtypeOf(given) === undefined) {
    throw codedTypeError(
      'ERR_DTYPE',
      `Cannot ${ACTION} as its elements must be float32, float64 or int32: current type is ${type}`,
      { actual: type },
    )
  }
  const data = given as FloatArray | Int32Array
  return { data, own: [data.length] }
}

/** The lengths of the first list of each depth. */
function shapeOf(nested: unknown, depth: number): readonly number[] {
  // A list that holds itself has no end.
  if (!Array.isArray(nested) || depth === DEEPEST) return []
  return [nested.length, ...(nested.length === 0 ? [] : shapeOf(nested[0], depth + 1))]
}

function collect(nested: unknown, [length, ...rest]: readonly number[], numbers: number[]): void {
  if (length === undefined) {
    if (typeof nested !== 'number') throw notNumbers(nested)
    numbers.push(nested)
    return
  }
  if (!Array.isArray(nested) || nested.length !== length) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${ACTION} as lists of one depth must have one length, ${length}: current value is ${describeValue(nested)}`,
      { expected: length },
    )
  }
  for (const part of nested) collect(part, rest, numbers)
}

function notNumbers(value: unknown) {
  return codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${ACTION} as its elements must be numbers, a typed array, or lists of numbers: current value is ${describeValue(value)}`,
    { value },
  )
}
