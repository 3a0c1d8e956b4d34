import type { OptionsOf } from '@cudnn-rnn/canonical/rules'
import { Optimizer } from './optimizer.js'
import { COMMON_OPTIONS, type CommonOptions, checkSettings, type OptimizerSpec, RULE_NUMBER } from './optimizer_spec.js'
import type { Trainable } from './trainable.js'

const OPTIONS = {
  ...COMMON_OPTIONS,
  /** How much of the mean square remains; default 0.99 (PyTorch's alpha) or 0.9 (Keras' rho). */
  decay: RULE_NUMBER,
  /** Default 0. */
  momentum: RULE_NUMBER,
  /** Default 1e-8 (PyTorch) or 1e-7 (Keras). */
  epsilon: RULE_NUMBER,
}

interface RmsPropOptimizerOptions extends CommonOptions, OptionsOf<typeof OPTIONS> {}

const RMS_PROP = {
  rule: 'rmsProp',
  slots: ['RMSProp', 'RMSProp_1'],
  options: OPTIONS,
  defaults: {
    pytorch: { decay: 0.99, momentum: 0, epsilon: 1e-8 },
    tensorflow: { decay: 0.9, momentum: 0, epsilon: 1e-7 },
  },
  fixed: {
    pytorch: { epsilonInRoot: false, rateInVelocity: false },
    tensorflow: { epsilonInRoot: true, rateInVelocity: true },
  },
} as const satisfies OptimizerSpec

/**
 * RMSProp (Hinton's lecture 6e), not centered. Equation: rule `rmsProp` in docs/optimizer_rules.md.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { RmsProp } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.zeros([1]) }
 * const optimizer = new RmsProp([weight], { decay: 0.75 })
 * optimizer.apply([{ data: Float32Array.of(4), shape: [1] }], 0.5)
 * console.log(await weight.value.data()) // [-1]
 * ```
 */
export class RmsProp extends Optimizer {
  constructor(variables: readonly Trainable[], options: RmsPropOptimizerOptions = {}) {
    const settings = checkSettings(RMS_PROP, variables, options)
    super(variables, { ...RMS_PROP, settings }, options)
  }
}
