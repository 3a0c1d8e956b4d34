import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  codedRangeError,
  codedTypeError,
  liveLength,
  ownView,
  wasTransferred,
} from '@cudnn-rnn/canonical/rules'
import { DTYPES, type DType, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { dtypeOf } from './dtype_of.js'

/** A dimension of a shape that is requested: its size, or the letter of one that is free. */
export type Dimension = number | string

/** The required dtype and shape of an argument. */
export interface TensorRule {
  readonly dtype: DType
  readonly shape?: readonly Dimension[] | undefined
  /** Allowed opaque layout: set for parameters, their gradients and slots. */
  readonly layout?: string | undefined
}

/** More dimensions than any tensor of a recurrent network has. */
export const MAX_RANK = 64

/**
 * Checks one tensor argument without touching its values.
 *
 * @param action "run forward": completes "Cannot <action> as …".
 * @param name the argument's name in the public API.
 * @returns the checked tensor, as {@link checkIsTensor}; use it instead of the argument.
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`
 * @throws RangeError `ERR_SHAPE`, `ERR_TENSOR_DISPOSED`, `ERR_OTHER_LAYOUT` (parameters of another model)
 */
export function checkTensor<Given extends TensorLike>(
  action: string,
  name: string,
  given: Given,
  rule: TensorRule,
): Given {
  const tensor = checkIsTensor(action, name, given)
  checkRule(action, name, tensor, rule)
  return tensor
}

/** Like {@link checkTensor}, for a tensor that {@link checkIsTensor} returned. */
export function checkRule(action: string, name: string, tensor: TensorLike, rule: TensorRule): void {
  const dtype = tensorDType(tensor)
  if (dtype !== rule.dtype) {
    const actual = dtype ?? arrayTypeOf((tensor as Tensor).data)
    throw codedTypeError('ERR_DTYPE', `Cannot ${action} as ${name} must be ${rule.dtype}: current type is ${actual}`, {
      argument: name,
      expected: rule.dtype,
      actual,
    })
  }
  if (rule.layout !== undefined && isBackendTensor(tensor) && tensor.layout !== undefined) {
    if (tensor.layout !== rule.layout) {
      throw codedRangeError(
        'ERR_OTHER_LAYOUT',
        `Cannot ${action} as ${name} must have the layout of this network (${rule.layout}): current layout is ${tensor.layout}`,
        { argument: name, expected: rule.layout, actual: tensor.layout },
      )
    }
  }
  if (rule.shape !== undefined) checkShape(action, name, tensor.shape, rule.shape)
}

/** Throws `ERR_SHAPE` unless `shape` has the rank and the fixed dimensions of `expected`. */
export function checkShape(
  action: string,
  name: string,
  shape: readonly number[],
  expected: readonly Dimension[],
): void {
  if (fits(shape, expected)) return
  const batch = expected.indexOf('B')
  const oneRow = [...shape.slice(0, batch), 1, ...shape.slice(batch)]
  const advice = batch >= 0 && fits(oneRow, expected) ? `. A batch of this one row has shape [${oneRow.join(',')}]` : ''
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as ${name} must have shape [${expected.join(',')}]: current shape is [${shape.join(',')}]${advice}`,
    { argument: name, expected, actual: shape },
  )
}

function fits(shape: readonly number[], expected: readonly Dimension[]): boolean {
  if (shape.length !== expected.length) return false
  return expected.every((size, axis) => typeof size === 'string' || size === shape[axis])
}

/** The dtype of either kind of tensor; undefined for a host array of an unknown type. */
export function tensorDType(tensor: TensorLike): DType | undefined {
  return isBackendTensor(tensor) ? tensor.dtype : dtypeOf(tensor.data)
}

/**
 * Checks that `given` is a live backend tensor or a host tensor whose elements fill its shape.
 *
 * @returns the backend tensor itself; of a host tensor its shape and a view of its elements as they were read here, once:
 *   later results of a caller's getters, subclass or resizable buffer have no effect.
 * @throws TypeError `ERR_NOT_A_TENSOR`
 * @throws RangeError `ERR_TENSOR_DISPOSED`, `ERR_TENSOR_TRANSFERRED`, `ERR_SHAPE`
 */
export function checkIsTensor<Given extends TensorLike>(action: string, name: string, given: Given): Given {
  if (isBackendTensor(given)) {
    if (given.disposed) {
      throw codedRangeError('ERR_TENSOR_DISPOSED', `Cannot ${action} as ${name} was disposed`, { argument: name })
    }
    if (!Array.isArray(given.shape)) throw notATensor(action, name, `value is ${describeValue(given)}`)
    return given
  }
  const { data, shape } = readOnce(action, name, given)
  const dtype = dtypeOf(data)
  const tensor = { data: dtype === undefined ? data : ownView(data, DTYPES[dtype].array as never), shape }
  if (!shape.every(isDimension)) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as every dimension of ${name} must be an integer >= 0: current shape is [${shape.map(describeValue).join(',')}]`,
      { argument: name, actual: shape },
    )
  }
  const expected = elementCount(shape)
  const actual = liveLength(tensor.data)
  if (actual === expected) return tensor as Tensor as Given
  if (wasTransferred(data)) {
    throw codedRangeError(
      'ERR_TENSOR_TRANSFERRED',
      `Cannot ${action} as the elements of ${name} were transferred elsewhere: current number is 0. Copy them with slice() first.`,
      { argument: name, expected, actual },
    )
  }
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as ${name} with shape [${shape.join(',')}] must have ${expected} elements: current number is ${actual}`,
    { argument: name, expected, actual },
  )
}

/** A frame of a stream: a tensor, or its numbers alone if they are exactly one step. */
export type Frame = TensorLike | FloatArray | Int32Array | readonly number[]

/**
 * The numbers of one step as a tensor of its shape, if that is known; other numbers as a list, and other values as they are.
 * An array of JavaScript's numbers becomes one of `dtype`, if that is given.
 */
export function frameTensor<Given extends TensorLike>(
  frame: Given | FloatArray | Int32Array | readonly number[],
  shape?: readonly number[],
  dtype?: DType,
): Given {
  const data = Array.isArray(frame) && dtype ? numbersOf([...frame], dtype) : frame
  if (arrayTypeOf(data) === undefined) return frame as Given
  const { length } = data as FloatArray
  const isOne = shape !== undefined && length === elementCount(shape)
  return { data, shape: isOne ? shape : [length] } as Tensor as Given
}

/** Undefined if an element is not a number. Fractions stay fractions, which are then refused as class ids. */
function numbersOf(list: readonly unknown[], dtype: DType): FloatArray | Int32Array | undefined {
  if (!list.every((element) => typeof element === 'number')) return undefined
  const fits = dtype !== 'int32' || list.every((element) => element === (element | 0))
  return DTYPES[fits ? dtype : 'float64'].array.from(list)
}

/**
 * Like {@link checkIsTensor}, for arguments that must be host tensors.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR` for a backend tensor too
 */
export function checkIsHostTensor(action: string, name: string, given: TensorLike): Tensor {
  const tensor = checkIsTensor(action, name, given)
  if (!isBackendTensor(tensor)) return tensor
  throw codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${action} as ${name} must be a host tensor: current value is a backend tensor. read() it first.`,
    { argument: name },
  )
}

/**
 * Checks a host tensor that an executor is to make a tensor of.
 *
 * @param own the floating type that the executor computes in; int32 is held by all.
 * @returns the tensor as {@link checkIsHostTensor} does, and its dtype.
 * @throws as {@link checkIsHostTensor}; TypeError `ERR_DTYPE`
 */
export function checkHostTensor(action: string, own: FloatDType, given: Tensor): Tensor & { readonly dtype: DType } {
  const { data, shape } = checkIsHostTensor(action, 'host', given)
  const dtype = dtypeOf(data)
  if (dtype === own || dtype === 'int32') return { data, shape, dtype }
  const actual = arrayTypeOf(data)
  throw codedTypeError(
    'ERR_DTYPE',
    `Cannot ${action} as this executor holds ${own} and int32: current type is ${actual}`,
    { argument: 'host', expected: own, actual },
  )
}

/**
 * A shape that a tensor is to be made of, read once. Throws RangeError `ERR_SHAPE` unless every dimension is an integer >= 0.
 */
export function checkDimensions(action: string, shape: readonly number[]): readonly number[] {
  // slice() looks at the length once, and iteration after each element.
  const dimensions: unknown[] = Array.isArray(shape) ? Array.prototype.slice.call(shape, 0, MAX_RANK + 1) : []
  const isArray = Array.isArray(shape) && dimensions.length <= MAX_RANK
  if (isArray && dimensions.every(isDimension)) return dimensions as number[]
  const current = isArray ? `[${dimensions.map(describeValue).join(',')}]` : describeValue(shape)
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as its shape must be an array of integers >= 0: current value is ${current}`,
    { actual: shape },
  )
}

/** The fields of a possible host tensor; each is read once. */
function readOnce(action: string, name: string, given: unknown): Tensor {
  let fields: Tensor | string
  try {
    fields = hostFields(given)
  } catch (cause) {
    throw notATensor(action, name, `value is ${describeValue(given)}`, { cause })
  }
  if (typeof fields === 'string') throw notATensor(action, name, fields)
  return fields
}

/** The fields of a host tensor, or the one that is at fault. */
function hostFields(given: unknown): Tensor | string {
  const isObject = typeof given === 'object' && given !== null && !ArrayBuffer.isView(given)
  if (!isObject || !('data' in given) || !('shape' in given)) {
    return `value is ${describeValue(given)}${Array.isArray(given) ? '. tensor() makes one of lists of numbers.' : ''}`
  }
  const { data, shape } = given as Tensor
  if (arrayTypeOf(data) === undefined) {
    return `data is ${describeValue(data)}${Array.isArray(data) ? '. Float32Array.from() makes it a typed one.' : ''}`
  }
  if (!Array.isArray(shape)) return `shape is ${describeValue(shape)}`
  const rank = shape.length
  if (rank > MAX_RANK) return `shape is ${describeValue(shape)}`
  const dimensions: number[] = []
  for (let axis = 0; axis < rank; axis++) dimensions.push(shape[axis] as number)
  return { data, shape: dimensions }
}

/** Whether a shape may have `size`: an integer >= 0. */
export function isDimension(size: unknown): boolean {
  return Number.isSafeInteger(size) && (size as number) >= 0
}

function notATensor(action: string, name: string, current: string, options: { readonly cause?: unknown } = {}) {
  return codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${action} as ${name} must be a tensor { data: typed array, shape: number[] } or a backend tensor: current ${current}`,
    { argument: name, ...options },
  )
}
