import { type DType, dtypeOf, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, codedTypeError, elementCount, type Tensor } from '@cudnn-rnn/canonical'

/** What an argument must be; a dimension left undefined is free. */
export interface TensorRule {
  readonly dtype: DType
  readonly shape?: readonly (number | undefined)[] | undefined
  /** Allowed opaque layout: set for parameters, their gradients and slots. */
  readonly layout?: string | undefined
}

/**
 * Checks one tensor argument without touching its values.
 *
 * @param action "run forward": completes "Cannot <action> as …".
 * @param name the argument's name in the public API.
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`
 * @throws RangeError `ERR_SHAPE`, `ERR_TENSOR_DISPOSED`, `ERR_OTHER_LAYOUT` (parameters of another model)
 */
export function checkTensor(action: string, name: string, tensor: TensorLike, rule: TensorRule): void {
  checkIsTensor(action, name, tensor)
  const dtype = tensorDType(tensor)
  if (dtype !== rule.dtype) {
    const current = dtype ?? (isBackendTensor(tensor) ? undefined : tensor.data.constructor.name)
    throw codedTypeError(
      'ERR_DTYPE',
      `Cannot ${action} as ${name} must be ${rule.dtype}: current dtype is ${current}`,
      {
        argument: name,
        expected: rule.dtype,
        actual: current,
      },
    )
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
  expected: readonly (number | undefined)[],
): void {
  if (shape.length === expected.length && expected.every((size, axis) => size === undefined || size === shape[axis]))
    return
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as ${name} must have shape [${expected.map((size) => size ?? '*').join(',')}]: current shape is [${shape.join(',')}]`,
    { argument: name, expected, actual: shape },
  )
}

/** The dtype of either kind of tensor; undefined for a host array of an unknown type. */
export function tensorDType(tensor: TensorLike): DType | undefined {
  return isBackendTensor(tensor) ? tensor.dtype : dtypeOf(tensor.data)
}

/**
 * Checks that `tensor` is a live backend tensor or a host tensor whose elements fill its shape.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`
 * @throws RangeError `ERR_TENSOR_DISPOSED`, `ERR_SHAPE`
 */
export function checkIsTensor(action: string, name: string, tensor: TensorLike): void {
  if (isBackendTensor(tensor)) {
    if (!tensor.disposed) return
    throw codedRangeError('ERR_TENSOR_DISPOSED', `Cannot ${action} as ${name} was disposed`, { argument: name })
  }
  if (
    typeof tensor !== 'object' ||
    tensor === null ||
    !ArrayBuffer.isView(tensor.data) ||
    !Array.isArray(tensor.shape)
  ) {
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as ${name} must be a tensor { data: typed array, shape: number[] } or a backend tensor: current value is ${describe(tensor)}`,
      { argument: name },
    )
  }
  if (!tensor.shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as every dimension of ${name} must be an integer >= 0: current shape is [${tensor.shape.join(',')}]`,
      { argument: name, actual: tensor.shape },
    )
  }
  if (elementCount(tensor.shape) !== tensor.data.length) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as ${name} with shape [${tensor.shape.join(',')}] must have ${elementCount(tensor.shape)} elements: current number is ${tensor.data.length}`,
      {
        argument: name,
        expected: elementCount(tensor.shape),
        actual: tensor.data.length,
      },
    )
  }
}

/**
 * As {@link checkIsTensor}, of what only a host tensor will do for.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR` for a backend tensor too
 */
export function checkIsHostTensor(action: string, name: string, tensor: TensorLike): asserts tensor is Tensor {
  checkIsTensor(action, name, tensor)
  if (!isBackendTensor(tensor)) return
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
 * @throws as {@link checkIsHostTensor}; TypeError `ERR_DTYPE`
 */
export function checkHostTensor(action: string, own: FloatDType, host: Tensor): DType {
  checkIsHostTensor(action, 'host', host)
  const dtype = tensorDType(host)
  if (dtype === own || dtype === 'int32') return dtype
  const actual = host.data.constructor.name
  throw codedTypeError(
    'ERR_DTYPE',
    `Cannot ${action} as this executor holds ${own} and int32: current type is ${actual}`,
    { argument: 'host', expected: own, actual },
  )
}

/** Throws RangeError `ERR_SHAPE` unless every dimension of a tensor to be made is an integer >= 0. */
export function checkDimensions(action: string, shape: readonly number[]): void {
  const isArray = Array.isArray(shape)
  if (isArray && shape.every((size) => Number.isSafeInteger(size) && size >= 0)) return
  const current = isArray ? `[${shape.join(',')}]` : String(shape)
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as its shape must be an array of integers >= 0: current value is ${current}`,
    { actual: shape },
  )
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  return value === null ? 'null' : typeof value
}
