import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import {
  checkOptionValues,
  codedRangeError,
  FLAG,
  integerIn,
  invalidOption,
  oneOf,
  type Rule,
  SHARE,
} from '@cudnn-rnn/canonical/rules'
import { hyperparameter as finite } from '../arguments/hyperparameter.js'
import { checkDimensions, isDimension, MAX_RANK } from '../arguments/tensor_arguments.js'
import { ACTIVATIONS, POOLINGS } from './operation_types.js'
import type { Numbers, Sizes } from './pattern.js'
import { broadcastShape } from './walk.js'

/** The rule of an option of an operation. */
export interface OptionRule<Value> {
  /** For the documentation: the values that it takes. */
  readonly words: string
  /** The value, complete. @throws RangeError and TypeError if it is not allowed */
  readonly complete: (action: string, name: string, value: unknown, numbers: Numbers, sizes: Sizes) => Value
  /** Whether it may be left out. */
  readonly isOptional?: true
  /** The names that kernels number by their places. */
  readonly names?: readonly string[]
  /** For tests: a value that is taken. */
  readonly example?: unknown
}

/** One of a few names; RangeError `ERR_INVALID_OPTION`. */
export function choice<Name extends string>(names: readonly Name[]): OptionRule<Name> {
  return {
    words: names.join(', '),
    complete(action, option, value) {
      if (names.includes(value as Name)) return value as Name
      throw invalidOption(action, option, names, value)
    },
    names,
    example: names[0],
  }
}

/** A value by a rule of arguments, whose errors `ERR_INVALID_OPTION_TYPE` and `ERR_INVALID_OPTION` it throws. */
function ruled<Value>(rule: Rule<Value>, example: NoInfer<Value>): OptionRule<Value> {
  return {
    words: rule.words,
    complete(action, option, value) {
      checkOptionValues(action, { [option]: value }, { [option]: rule })
      return value as Value
    },
    example,
  }
}

export const PROBABILITY = ruled(SHARE, 0.5)
export const POOLING: OptionRule<(typeof POOLINGS)[number]> = {
  ...ruled(oneOf(POOLINGS), 'last'),
  names: POOLINGS,
}

/** An integer in 0..most. */
function counter(most: number): OptionRule<number> {
  return ruled(integerIn(0, most), 1)
}

/** A finite number of at least `minimum`; RangeError `ERR_HYPERPARAMETER`. */
export function hyperparameter(minimum: number, example: number): OptionRule<number> {
  return ruled(finite(minimum === Number.NEGATIVE_INFINITY ? {} : { minimum }), example)
}

/** An integer from 0 to a number of columns, by default that number; RangeError `ERR_INVALID_OPTION`. */
export function columnIndex(words: string, most: (numbers: Numbers) => number, example: number): OptionRule<number> {
  return {
    words,
    complete(action, option, value, numbers) {
      const maximum = most(numbers)
      if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maximum) return value as number
      throw invalidOption(action, option, `an integer in 0..${maximum}`, value)
    },
    example,
  }
}

/** `rule` of an option that may be left out, and then is `fallback`. */
export function optional<Value>(
  rule: OptionRule<Value>,
  fallback: (numbers: Numbers, sizes: Sizes) => Value,
): OptionRule<Value> {
  return {
    ...rule,
    complete: (action, option, value, numbers, sizes) =>
      value === undefined ? fallback(numbers, sizes) : rule.complete(action, option, value, numbers, sizes),
    isOptional: true,
  }
}

/** The upper limit of relu; infinite if it has none. */
export const MAXIMUM: OptionRule<number> = optional(
  {
    words: 'a number > 0, of relu',
    complete(action, option, value, numbers) {
      const isRelu = numbers['activation'] === 'relu'
      if (isRelu && typeof value === 'number' && value > 0) return value
      throw invalidOption(action, option, isRelu ? 'a number > 0' : `absent for ${numbers['activation']}`, value)
    },
  },
  () => Number.POSITIVE_INFINITY,
)
export const ACTIVATION = choice(ACTIVATIONS)

/** False unless it is given. */
export const FLAG_OPTION: OptionRule<boolean> = optional(ruled(FLAG, true), () => false)

export const SEED = counter(Number.MAX_SAFE_INTEGER)
export const DRAW = counter(2 ** 48 - 1)

/** The dimensions of the operand that was measured first. */
function shapeOf({ leading = [], rank }: Sizes): readonly number[] {
  return leading.slice(0, rank)
}

/** A dimension, from 0 on; undefined for none. */
function axisOf(value: unknown, rank: number): number | undefined {
  if (!Number.isInteger(value) || (value as number) < -rank || (value as number) >= rank) return undefined
  return (value as number) < 0 ? (value as number) + rank : (value as number)
}

/** A dimension; there are `more` of them than the operand has. Negative numbers count from the last. */
function axisRule(words: string, more: number): OptionRule<number> {
  return {
    words,
    complete(action, option, value, _, { rank }) {
      const axis = axisOf(value, rank + more)
      if (axis !== undefined) return axis
      throw invalidOption(action, option, `an integer in ${-rank - more}..${rank + more - 1}`, value)
    },
    example: 0,
  }
}

export const AXIS = optional(axisRule('an integer from −rank to rank − 1', 0), (_, { rank }) => rank - 1)
export const STACK_AXIS = optional(axisRule('an integer from −rank − 1 to rank', 1), () => 0)

/** Distinct dimensions, in their order. */
export const AXES: OptionRule<readonly number[]> = optional(
  {
    words: 'different integers from −rank to rank − 1',
    complete(action, option, value, _, { rank }) {
      const axes = Array.isArray(value) ? value.map((axis) => axisOf(axis, rank)) : [undefined]
      const isRight = !axes.includes(undefined) && new Set(axes).size === axes.length
      if (isRight) return (axes as number[]).sort((a, b) => a - b)
      throw invalidOption(action, option, `an array of different integers in ${-rank}..${rank - 1}`, value)
    },
    example: [-1],
  },
  (_, { rank }) => Array.from({ length: rank }, (_each, axis) => axis),
)

/** The number of a dimension of the operand for each dimension of the result. */
export const ORDER: OptionRule<readonly number[]> = {
  words: 'each of the numbers 0..rank − 1',
  complete(action, option, value, _, { rank }) {
    const isOrder = Array.isArray(value) && value.length === rank && new Set(value).size === rank
    if (isOrder && value.every((axis) => isDimension(axis) && axis < rank)) return [...value]
    throw invalidOption(action, option, `each of the numbers 0..${rank - 1}`, value)
  },
  example: [1, 0],
}

/** An integer in 0..`most` for each dimension. */
function perDimension(
  words: string,
  example: readonly number[],
  most: (size: number, axis: number, numbers: Numbers) => number,
): OptionRule<readonly number[]> {
  return {
    words,
    complete(action, option, value, numbers, sizes) {
      const limits = shapeOf(sizes).map((size, axis) => most(size, axis, numbers))
      const isRight = Array.isArray(value) && value.length === limits.length
      if (isRight && value.every((each, axis) => isDimension(each) && each <= limits[axis])) {
        return [...value]
      }
      throw invalidOption(action, option, `an array of integers from 0 to those of [${limits.join(',')}]`, value)
    },
    example,
  }
}

export const BEGINS = perDimension('an integer from 0 to its size, for each dimension', [1, 0], (size) => size)
export const PART_SIZES = perDimension(
  'an integer from 0 to the elements after begins, for each dimension',
  [1, 2],
  (size, axis, { begins }) => size - begins[axis],
)
export const PADDING = perDimension('an integer >= 0 for each dimension', [1, 0], () => 2 ** 31)

function shapeRule(
  words: string,
  example: readonly number[],
  expected: (shape: readonly number[], sizes: Sizes, numbers: Numbers) => string | undefined,
): OptionRule<readonly number[]> {
  return {
    words,
    complete(action, option, value, numbers, sizes) {
      const isShape = Array.isArray(value) && value.length <= MAX_RANK && value.every(isDimension)
      const fault = isShape ? expected(value, sizes, numbers) : (expected([], sizes, numbers) ?? 'be integers >= 0')
      if (isShape && fault === undefined) return [...value]
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot ${action} as ${option} must ${fault}: current value is ${describeValue(value)}`,
        { expected: shapeOf(sizes), actual: value },
      )
    },
    example,
  }
}

/** Dimensions of a result that has no operand; RangeError `ERR_SHAPE`. */
export const SHAPE = shapeRule('sizes', [2, 3], () => undefined)

/** Dimensions of as many elements. */
export const SAME_COUNT = shapeRule('sizes of as many elements', [6], (shape, sizes, { rows }) =>
  elementCount(shape) === rows ? undefined : `have ${rows} elements, as [${shapeOf(sizes)}]`,
)

/** Dimensions to which the operand can be repeated. */
export const REPEATED = shapeRule('sizes to which those of input repeat', [4, 2, 3], (shape, sizes) =>
  String(broadcastShape(shapeOf(sizes), shape)) === String(shape) && shape.length >= sizes.rank
    ? undefined
    : `be a shape to which [${shapeOf(sizes)}] repeats`,
)

/** A size of a result that no operand has; RangeError `ERR_SHAPE`. */
export const RESULT_SIZE: OptionRule<number> = {
  words: 'an integer >= 0',
  complete: (action, _, value, numbers) =>
    checkDimensions(action, [value as number, Math.max(0, numbers['columns'])])[0],
  example: 6,
}

/** Checked with the operands, by the row's `complete`. */
export function checkedWithOperands<Value>(words: string, example: Value): OptionRule<Value> {
  return { words, complete: (_action, _option, value) => value as Value, example }
}
