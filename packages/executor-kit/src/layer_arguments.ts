import { checkedElsewhere, checkOptions, integerIn, oneOf, SHARE } from '@cudnn-rnn/arguments'
import type { FloatDType, TensorLike } from '@cudnn-rnn/backend'
import { checkIsObject, checkOptionNames, describeValue, elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from './coded_error.js'
import type { CompleteActivation, CompletePool, DropoutMask, RowSizes, SequenceSizes } from './layer_kernels.js'
import {
  ACTIVATIONS,
  type ActivationOptions,
  type DropoutOptions,
  POOLINGS,
  type PoolOptions,
} from './operation_options.js'
import { checkShape, checkTensor, isDimension } from './tensor_arguments.js'

/** Checks a tensor [...,E]; throws as `checkTensor`. */
export function checkRows(action: string, dtype: FloatDType, name: string, tensor: TensorLike): RowSizes {
  checkTensor(action, name, tensor, { dtype })
  if (tensor.shape.length === 0) checkShape(action, name, tensor.shape, ['…', 'E'])
  return { rows: elementCount(tensor.shape.slice(0, -1)), columns: tensor.shape[tensor.shape.length - 1] }
}

/** Checks a sequence [T,B,E] and its lengths [B]; throws as `checkTensor`. */
export function checkSequence(
  action: string,
  dtype: FloatDType,
  input: TensorLike,
  lengths: TensorLike | undefined,
): SequenceSizes {
  checkTensor(action, 'input', input, { dtype, shape: ['T', 'B', 'E'] })
  const [time, batch, columns] = input.shape as [number, number, number]
  if (lengths !== undefined) checkTensor(action, 'lengths', lengths, { dtype: 'int32', shape: [batch] })
  return { time, batch, columns }
}

/** Throws RangeError `ERR_SEQUENCE_LENGTHS` unless every length is in 0..time. */
export function checkLengthValues(action: string, lengths: Int32Array, time: number): void {
  const row = lengths.findIndex((length) => length < 0 || length > time)
  if (row === -1) return
  throw codedRangeError(
    'ERR_SEQUENCE_LENGTHS',
    `Cannot ${action} as lengths[${row}] must be in 0..${time}: current value is ${lengths[row]}`,
    { row, value: lengths[row], maximum: time },
  )
}

/** Throws RangeError `ERR_INVALID_OPTION` unless `value` is one of `known`. */
export function checkOneOf<Known extends string>(
  action: string,
  option: string,
  value: unknown,
  known: readonly Known[],
): Known {
  if (known.includes(value as Known)) return value as Known
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as ${option} must be one of ${known.join(', ')}: current value is ${describeValue(value)}`,
    { option, value },
  )
}

/** Throws RangeError `ERR_INVALID_OPTION` unless `value` is an integer in minimum..maximum. */
export function checkInteger(
  action: string,
  option: string,
  value: unknown,
  [minimum, maximum]: readonly [number, number],
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as ${option} must be an integer in ${minimum}..${maximum}: current value is ${describeValue(value)}`,
    { option, value },
  )
}

/** Checks and completes an activation. Throws RangeError `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`. */
export function completeActivation(
  action: string,
  activation: unknown,
  options: ActivationOptions,
): CompleteActivation {
  checkIsObject(action, 'options', options)
  checkOptionNames(action, options, ['maximum'])
  const known = checkOneOf(action, 'activation', activation, ACTIVATIONS)
  const { maximum } = options
  if (maximum === undefined) return { activation: known, maximum: Number.POSITIVE_INFINITY }
  if (known === 'relu' && typeof maximum === 'number' && maximum > 0) return { activation: known, maximum }
  const rule = known === 'relu' ? 'a number > 0' : `absent for ${known}`
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as maximum must be ${rule}: current value is ${describeValue(maximum)}`,
    { option: 'maximum', value: maximum },
  )
}

/** Throws RangeError `ERR_SHAPE` unless `shape` is a list of sizes with as many elements as `current`. */
export function checkSameCount(action: string, current: readonly number[], shape: readonly number[]): void {
  const isShape = Array.isArray(shape) && shape.every(isDimension)
  if (isShape && elementCount(shape) === elementCount(current)) return
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as shape must have ${elementCount(current)} elements, as [${current.join(',')}]: current value is ${describeValue(shape)}`,
    { expected: current, actual: shape },
  )
}

const DROPOUT_OPTIONS = {
  rate: SHARE,
  seed: integerIn(0, Number.MAX_SAFE_INTEGER),
  draw: integerIn(0, 2 ** 48 - 1),
}

/**
 * Checks and completes the options of a dropout.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function dropoutMask(options: DropoutOptions): DropoutMask {
  checkOptions('apply dropout', options, DROPOUT_OPTIONS)
  const { rate, seed, draw } = options
  return {
    seedLow: seed >>> 0,
    seedHigh: Math.floor(seed / 2 ** 32),
    drawLow: draw % 2 ** 24,
    drawHigh: Math.floor(draw / 2 ** 24),
    threshold: Math.ceil(rate * 2 ** 24),
    kept: rate === 1 ? 0 : 1 / (1 - rate),
  }
}

// `reversedFrom` is checked below, against the number of columns.
const POOL_OPTIONS = { pooling: oneOf(POOLINGS), reversedFrom: checkedElsewhere<number | undefined>() }

/**
 * Checks and completes the options of a pooling over `columns` columns.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function completePool(action: string, options: PoolOptions, columns: number): CompletePool {
  checkOptions(action, options, POOL_OPTIONS)
  const reversedFrom = checkInteger(action, 'reversedFrom', options.reversedFrom ?? columns, [0, columns])
  return { pooling: options.pooling, reversedFrom }
}

/** Throws TypeError `ERR_NOT_A_TENSOR` unless `inputs` is an array of at least one tensor. */
export function checkTensorList(action: string, inputs: readonly TensorLike[]): void {
  if (Array.isArray(inputs) && inputs.length > 0) return
  throw codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${action} as inputs must be an array of tensors, one at least: current value is ${describeValue(inputs)}`,
    { argument: 'inputs' },
  )
}
