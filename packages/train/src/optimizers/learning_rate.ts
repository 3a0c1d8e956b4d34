import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FLAG,
  listOf,
  NUMBER,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { checkHyperparameter } from '@cudnn-rnn/ops/executor'

/** The learning rate of an update; `step` counts the updates done before it, from 0. */
export type Schedule = (step: number) => number

/**
 * The same rate always.
 *
 * @example
 * ```ts
 * import { constantRate } from '@cudnn-rnn/rnn'
 *
 * const rate = constantRate(0.001)
 * console.log(rate(0), rate(1000)) // 0.001 0.001
 * ```
 */
export function constantRate(rate: number): Schedule {
  checkRate('rate', rate)
  return () => rate
}

const COSINE_OPTIONS = {
  /** The highest rate, after the warm-up. */
  peak: NUMBER,
  /** Steps of the whole schedule, warm-up included; the rate stays at `final` after them. */
  steps: NUMBER,
  /** Steps of linear growth from peak/warmup to peak; default 0. */
  warmup: optional(NUMBER),
  /** Default 0. */
  final: optional(NUMBER),
}

interface CosineOptions extends OptionsOf<typeof COSINE_OPTIONS> {}

/**
 * final + (peak - final)·½(1 + cos πx), x from 0 to 1 after the warm-up (Loshchilov & Hutter 2017).
 *
 * @example
 * ```ts
 * import { cosineRate } from '@cudnn-rnn/rnn'
 *
 * const rate = cosineRate({ peak: 0.01, steps: 100, warmup: 10 })
 * console.log([0, 9, 55, 100].map((step) => rate(step).toFixed(4))) // ['0.0010', '0.0100', '0.0050', '0.0000']
 * ```
 */
export function cosineRate(options: CosineOptions): Schedule {
  const { peak, steps, warmup = 0, final = 0 } = checkOptions(ACTION, options, COSINE_OPTIONS)
  checkRate('peak', peak)
  checkRate('final', final)
  checkHyperparameter(ACTION, 'warmup', warmup, { minimum: 0 })
  checkHyperparameter(ACTION, 'steps', steps, { minimum: warmup + 1 })
  return (step) => {
    if (step < warmup) return peak * Math.min(1, (step + 1) / warmup)
    const x = Math.min(1, (step - warmup) / (steps - warmup))
    return final + ((peak - final) * (1 + Math.cos(Math.PI * x))) / 2
  }
}

const EXPONENTIAL_OPTIONS = {
  /** The rate of the first step. */
  initial: NUMBER,
  /** Factor over `every` steps. */
  decay: NUMBER,
  /** Default 1. */
  every: optional(NUMBER),
  /** Default false: smoothly; true: once per `every` steps. */
  staircase: optional(FLAG),
}

interface ExponentialOptions extends OptionsOf<typeof EXPONENTIAL_OPTIONS> {}

/**
 * initial·decay^(step/every): TensorFlow's `exponential_decay`.
 *
 * @example
 * ```ts
 * import { exponentialRate } from '@cudnn-rnn/rnn/train'
 *
 * const rate = exponentialRate({ initial: 0.1, decay: 0.5, every: 10 })
 * console.log([0, 10, 20].map((step) => rate(step))) // [0.1, 0.05, 0.025]
 * ```
 */
export function exponentialRate(options: ExponentialOptions): Schedule {
  const { initial, decay, every = 1, staircase = false } = checkOptions(ACTION, options, EXPONENTIAL_OPTIONS)
  checkRate('initial', initial)
  checkRate('decay', decay)
  checkHyperparameter(ACTION, 'every', every, { minimum: 1 })
  return (step) => initial * decay ** (staircase ? Math.floor(step / every) : step / every)
}

/**
 * rates[k] from boundaries[k-1] on: one more rate than boundaries. Throws RangeError `ERR_SCHEDULE` for another count or
 * boundaries that do not grow.
 *
 * @example
 * ```ts
 * import { piecewiseRate } from '@cudnn-rnn/rnn/train'
 *
 * const rate = piecewiseRate([100, 200], [0.1, 0.01, 0.001])
 * console.log([0, 100, 200].map((step) => rate(step))) // [0.1, 0.01, 0.001]
 * ```
 */
export function piecewiseRate(boundaries: readonly number[], rates: readonly number[]): Schedule {
  const { boundaries: places, rates: values } = checkArguments(
    ACTION,
    { boundaries, rates },
    { boundaries: listOf(NUMBER), rates: listOf(NUMBER) },
  )
  for (const [index, rate] of values.entries()) checkRate(`rates[${index}]`, rate)
  const grows = places.every((boundary, k) => boundary > (places[k - 1] ?? -1))
  if (values.length !== places.length + 1 || !grows) {
    throw codedRangeError(
      'ERR_SCHEDULE',
      `Cannot ${ACTION} as boundaries must grow and have one rate more: current values are [${places.join(',')}] and [${values.join(',')}]`,
      { boundaries: places, rates: values },
    )
  }
  return (step) => values[places.filter((boundary) => step >= boundary).length]
}

const ACTION = 'make a learning-rate schedule'

function checkRate(name: string, rate: number): void {
  checkHyperparameter(ACTION, name, rate, { minimum: 0 })
}
