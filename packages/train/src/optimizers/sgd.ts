import type { OptionsOf } from '@cudnn-rnn/canonical/rules'
import { Optimizer } from './optimizer.js'
import {
  COMMON_OPTIONS,
  type CommonOptions,
  checkSettings,
  type OptimizerSpec,
  RULE_FLAG,
  RULE_NUMBER,
} from './optimizer_spec.js'
import type { Trainable } from './trainable.js'

const OPTIONS = {
  ...COMMON_OPTIONS,
  /** Default 0: plain gradient descent, without a slot. */
  momentum: RULE_NUMBER,
  /** Default false. */
  nesterov: RULE_FLAG,
}

interface SgdOptions extends CommonOptions, OptionsOf<typeof OPTIONS> {}

const DEFAULTS = { momentum: 0, nesterov: false } as const

const MOMENTUM = {
  rule: 'momentum',
  slots: ['Momentum'],
  options: OPTIONS,
  defaults: { pytorch: DEFAULTS, tensorflow: DEFAULTS },
  fixed: { pytorch: { rateInVelocity: false }, tensorflow: { rateInVelocity: true } },
} as const satisfies OptimizerSpec

/**
 * Gradient descent, with momentum or Nesterov's look-ahead. Equations: rules `sgd` and `momentum` in docs/optimizer_rules.md.
 *
 * @example
 * ```ts
 * import { openBackend, Sgd } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.zeros([1]) }
 * const optimizer = new Sgd([weight], { momentum: 0.5 })
 * for (let step = 0; step < 2; step++) optimizer.apply([{ data: Float32Array.of(1), shape: [1] }], 1)
 * console.log(await weight.value.data()) // [-2.5]
 * ```
 */
export class Sgd extends Optimizer {
  constructor(variables: readonly Trainable[], options: SgdOptions = {}) {
    const settings = checkSettings(MOMENTUM, variables, options)
    const isPlain = Number(settings.momentum) === 0
    super(variables, isPlain ? { rule: 'sgd', slots: [], settings: {} } : { ...MOMENTUM, settings }, options)
  }
}
