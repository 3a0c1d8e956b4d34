import type { OptionsOf } from '@cudnn-rnn/canonical/rules'
import { DTYPES } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import { Optimizer } from './optimizer.js'
import { COMMON_OPTIONS, type CommonOptions, checkSettings, type OptimizerSpec, RULE_NUMBER } from './optimizer_spec.js'
import type { Trainable } from './trainable.js'

const OPTIONS = {
  ...COMMON_OPTIONS,
  /** Initial sums of squares; default 0 (PyTorch) or 0.1 (Keras). */
  initialAccumulator: RULE_NUMBER,
  /** Default 1e-10 (PyTorch) or 1e-7 (Keras). */
  epsilon: RULE_NUMBER,
}

interface AdagradOptimizerOptions extends CommonOptions, OptionsOf<typeof OPTIONS> {}

const ADAGRAD = {
  rule: 'adagrad',
  slots: ['Adagrad'],
  options: OPTIONS,
  defaults: {
    pytorch: { initialAccumulator: 0, epsilon: 1e-10 },
    tensorflow: { initialAccumulator: 0.1, epsilon: 1e-7 },
  },
  fixed: { pytorch: { epsilonInRoot: false }, tensorflow: { epsilonInRoot: true } },
} as const satisfies OptimizerSpec

/**
 * Adagrad (Duchi et al. 2011), diagonal. Equation: rule `adagrad` in docs/optimizer_rules.md.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { Adagrad } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.zeros([1]) }
 * const optimizer = new Adagrad([weight])
 * optimizer.apply([{ data: Float32Array.of(4), shape: [1] }], 0.5)
 * console.log(await weight.value.data()) // [-0.5]
 * ```
 */
export class Adagrad extends Optimizer {
  constructor(variables: readonly Trainable[], options: AdagradOptimizerOptions = {}) {
    const { initialAccumulator, ...settings } = checkSettings(ADAGRAD, variables, options)
    super(variables, { ...ADAGRAD, settings }, options)
    const { backend } = this
    for (const { value } of this.slots) {
      const data = new DTYPES[backend.dtype].array(elementCount(value.shape)).fill(initialAccumulator)
      backend.ops.assign(value, { data, shape: value.shape })
    }
  }
}
