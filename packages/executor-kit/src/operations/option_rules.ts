import { checkOptionValues, integerIn, oneOf, type Rule, SHARE } from '@cudnn-rnn/arguments'
import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from '../coded_error.js'
import { checkHyperparameter } from '../hyperparameter.js'
import { checkDimensions, isDimension } from '../tensor_arguments.js'
import { ACTIVATIONS, POOLINGS } from './operation_types.js'
import type { Numbers, Sizes } from './pattern.js'

/** The rule of an option of an operation. */
export interface OptionRule<Value> {
  /** For the documentation: the values that it takes. */
  readonly words: string
  /** The value, complete. @throws RangeError and TypeError where it is not allowed */
  readonly complete: (action: string, name: string, value: unknown, numbers: Numbers, sizes: Sizes) => Value
  /** Whether it may be left out. */
  readonly isOptional?: true
  /** The names that kernels number by their places. */
  readonly names?: readonly string[]
  /** Values for tests: one that is taken, and some that are refused, each with its code. */
  readonly example?: unknown
  readonly wrong: readonly (readonly [value: unknown, code: string])[]
}

function invalid(action: string, option: string, rule: string, value: unknown): RangeError {
  return codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as ${option} must be ${rule}: current value is ${describeValue(value)}`,
    { option, value },
  )
}

/** One of a few names; RangeError `ERR_INVALID_OPTION`. */
export function choice<Name extends string>(names: readonly Name[]): OptionRule<Name> {
  return {
    words: names.join(', '),
    complete(action, option, value) {
      if (names.includes(value as Name)) return value as Name
      throw invalid(action, option, `one of ${names.join(', ')}`, value)
    },
    names,
    example: names[0],
    wrong: ['x', undefined, 1].map((value) => [value, 'ERR_INVALID_OPTION']),
  }
}

/** A value by a rule of arguments, whose errors `ERR_INVALID_OPTION_TYPE` and `ERR_INVALID_OPTION` it throws. */
function ruled<Value>(rule: Rule<Value>, example: NoInfer<Value>, ...refused: readonly unknown[]): OptionRule<Value> {
  return {
    words: rule.words,
    complete(action, option, value) {
      checkOptionValues(action, { [option]: value }, { [option]: rule })
      return value as Value
    },
    example,
    wrong: [
      [undefined, 'ERR_INVALID_OPTION_TYPE'],
      [[1], 'ERR_INVALID_OPTION_TYPE'],
      ...refused.map((value) => [value, 'ERR_INVALID_OPTION'] as const),
    ],
  }
}

export const PROBABILITY = ruled(SHARE, 0.5, -0.1, 1.1, Number.NaN)
export const POOLING: OptionRule<(typeof POOLINGS)[number]> = {
  ...ruled(oneOf(POOLINGS), 'last', 'sum'),
  names: POOLINGS,
}

/** An integer in 0..most. */
export function counter(most: number): OptionRule<number> {
  return ruled(integerIn(0, most), 1, -1, 0.5, most + 1)
}

/** A finite number of at least `minimum`; RangeError `ERR_HYPERPARAMETER`. */
export function hyperparameter(minimum: number, example: number): OptionRule<number> {
  const below = minimum === Number.NEGATIVE_INFINITY ? [] : [minimum - 1]
  return {
    words: ['a finite number', ...below.map(() => `>= ${minimum}`)].join(' '),
    complete(action, option, value) {
      checkHyperparameter(action, option, value as number, { minimum })
      return value as number
    },
    example,
    wrong: [Number.NaN, 'x', undefined, ...below].map((value) => [value, 'ERR_HYPERPARAMETER']),
  }
}

/** An integer from 0 to a number of columns, by default that number; RangeError `ERR_INVALID_OPTION`. */
export function columnIndex(words: string, most: (numbers: Numbers) => number, example: number): OptionRule<number> {
  return {
    words,
    complete(action, option, value, numbers) {
      const maximum = most(numbers)
      if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maximum) return value as number
      throw invalid(action, option, `an integer in 0..${maximum}`, value)
    },
    example,
    wrong: [-1, 99, 0.5, '1'].map((value) => [value, 'ERR_INVALID_OPTION']),
  }
}

/** `rule` of an option that may be left out, and then is `fallback`. */
export function optional<Value>(rule: OptionRule<Value>, fallback: (numbers: Numbers) => Value): OptionRule<Value> {
  return {
    ...rule,
    complete: (action, option, value, numbers, sizes) =>
      value === undefined ? fallback(numbers) : rule.complete(action, option, value, numbers, sizes),
    isOptional: true,
    wrong: rule.wrong.filter(([value]) => value !== undefined),
  }
}

/** The upper limit of relu; infinite if it has none. */
export const MAXIMUM: OptionRule<number> = optional(
  {
    words: 'a number > 0, of relu',
    complete(action, option, value, numbers) {
      const isRelu = numbers['activation'] === 'relu'
      if (isRelu && typeof value === 'number' && value > 0) return value
      throw invalid(action, option, isRelu ? 'a number > 0' : `absent for ${numbers['activation']}`, value)
    },
    wrong: [0, Number.NaN, '6', null].map((value) => [value, 'ERR_INVALID_OPTION']),
  },
  () => Number.POSITIVE_INFINITY,
)
export const ACTIVATION = choice(ACTIVATIONS)

/** Dimensions of as many elements; RangeError `ERR_SHAPE`. */
export const SAME_COUNT: OptionRule<readonly number[]> = {
  words: 'sizes of as many elements',
  complete(action, _, shape, numbers, { leading = [], rank }) {
    const count = numbers['rows'] * numbers['columns']
    if (Array.isArray(shape) && shape.every(isDimension) && elementCount(shape) === count) return [...shape]
    const current = [...leading.slice(0, rank), numbers['columns']]
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as shape must have ${count} elements, as [${current.join(',')}]: current value is ${describeValue(shape)}`,
      { expected: current, actual: shape },
    )
  },
  example: [6, 3],
  wrong: [[5], '6', [-2, -3], [1.5, 4], 6, undefined].map((value) => [value, 'ERR_SHAPE']),
}

/** The first size of a result, which no operand has; RangeError `ERR_SHAPE`. */
export const RESULT_SIZE: OptionRule<number> = {
  words: 'an integer >= 0',
  complete: (action, _, value, numbers) => checkDimensions(action, [value as number, numbers['columns']])[0],
  example: 6,
  wrong: [-1, 1.5, Number.NaN, 2 ** 60, '6', undefined].map((value) => [value, 'ERR_SHAPE']),
}

/** Checked with the operands, by the row's `complete`. */
export function checkedWithOperands<Value>(
  words: string,
  example: Value,
  wrong: OptionRule<Value>['wrong'],
): OptionRule<Value> {
  return { words, complete: (_action, _option, value) => value as Value, example, wrong }
}
