import { checkOptions, NUMBER, type OptionsOf, optional, type Rule, where } from '@cudnn-rnn/canonical/rules'

const LIMITS = {
  /** The least value. Default: none. */
  minimum: optional(NUMBER),
  /** The greatest value. Default: none. */
  maximum: optional(NUMBER),
}

interface NumberLimits extends OptionsOf<typeof LIMITS> {}

/**
 * The rule of an option of {@link layer} that is an integer.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 * @example
 * ```ts
 * import { layer } from '@cudnn-rnn/rnn'
 * import { integer } from '@cudnn-rnn/rnn/layers'
 *
 * const shifted = layer('shifted', { by: integer({ minimum: 0 }) }, ({ by }, input) => ({
 *   output: input,
 *   forward: (t, x) => t.add(x, by),
 * }))
 * console.log(shifted({ by: 2 }).config) // { by: 2 }
 * ```
 */
export function integer(limits: NumberLimits = {}): Rule<number> {
  return within('an integer', limits, Number.isSafeInteger)
}

/**
 * The rule of an option of {@link layer} that is a finite number.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 * @example
 * ```ts
 * import { layer } from '@cudnn-rnn/rnn'
 * import { number } from '@cudnn-rnn/rnn/layers'
 *
 * const scaled = layer('scaled', { factor: number({ minimum: 0 }) }, ({ factor }, input) => ({
 *   output: input,
 *   forward: (t, x) => t.multiply(x, factor),
 * }))
 * console.log(scaled({ factor: 0.5 }).config) // { factor: 0.5 }
 * ```
 */
export function number(limits: NumberLimits = {}): Rule<number> {
  return within('a finite number', limits, Number.isFinite)
}

function within(kind: string, limits: NumberLimits, isAllowed: (value: number) => boolean): Rule<number> {
  const given = checkOptions('make a rule', limits, LIMITS)
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = given
  const bounds = [
    ...(Number.isFinite(minimum) ? [`>= ${minimum}`] : []),
    ...(Number.isFinite(maximum) ? [`<= ${maximum}`] : []),
  ]
  const words = [kind, bounds.join(' and ')].join(' ').trim()
  return where(NUMBER, words, (value) => isAllowed(value) && value >= minimum && value <= maximum)
}
