import type { OptionsOf } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, DTYPES } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { Optimizer, type UpdateOptions } from './optimizer.js'
import { COMMON_OPTIONS, type CommonOptions, checkSettings, type OptimizerSpec, RULE_NUMBER } from './optimizer_spec.js'
import type { Trainable } from './trainable.js'

const OPTIONS = {
  ...COMMON_OPTIONS,
  /** Default 0.9 */
  beta1: RULE_NUMBER,
  /** Default 0.999 */
  beta2: RULE_NUMBER,
  /** Default 1e-8 (PyTorch) or 1e-7 (Keras). */
  epsilon: RULE_NUMBER,
}

interface AdamOptimizerOptions extends CommonOptions, OptionsOf<typeof OPTIONS> {}

const ADAM = {
  rule: 'adam',
  slots: ['Adam', 'Adam_1'],
  options: OPTIONS,
  defaults: {
    pytorch: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
    tensorflow: { beta1: 0.9, beta2: 0.999, epsilon: 1e-7 },
  },
  fixed: { pytorch: { epsilonHat: false }, tensorflow: { epsilonHat: true } },
} as const satisfies OptimizerSpec

/**
 * Adam (Kingma & Ba 2015), and AdamW (Loshchilov & Hutter 2019) when `weightDecay` is set.
 *
 * @example
 * ```ts
 * import { Adam, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.zeros([1]) }
 * const optimizer = new Adam([weight], { weightDecay: 0.01 })
 * optimizer.apply([{ data: Float32Array.of(4), shape: [1] }], 0.5)
 * console.log(await weight.value.data(), optimizer.slots.map(({ name }) => name))
 * // [-0.5] ['weight/Adam', 'weight/Adam_1']
 * ```
 */
export class Adam extends Optimizer {
  /** Counts updates on an executor with `steps`, where only the device determines which ones are skipped. */
  readonly #count: UpdateCount | undefined

  constructor(variables: readonly Trainable[], options: AdamOptimizerOptions = {}) {
    const settings = checkSettings(ADAM, variables, options)
    super(variables, { ...ADAM, settings }, options)
    try {
      this.#count = this.backend.steps && updateCount(this.backend)
    } catch (error) {
      super.dispose()
      throw error
    }
  }

  override restoreStep(step: number): void {
    super.restoreStep(step)
    if (this.#count) this.backend.ops.assign(this.#count.updates, scalar(this.backend, step))
  }

  override uncount(): void {
    super.restoreStep(this.step - 1)
  }

  override dispose(): void {
    super.dispose()
    this.#count?.updates.dispose()
    this.#count?.one.dispose()
  }

  protected override begin(): void {
    if (this.#count) this.backend.ops.accumulate(this.#count.updates, this.#count.one)
  }

  protected override updateOptions(learningRate: number): UpdateOptions {
    return { ...super.updateOptions(learningRate), step: this.#count?.updates ?? this.step }
  }
}

/** The number of updates and its increment, tensors of the executor. */
interface UpdateCount {
  readonly updates: BackendTensor
  readonly one: BackendTensor
}

function updateCount(backend: Backend): UpdateCount {
  const updates = backend.zeros([])
  try {
    return { updates, one: backend.tensor(scalar(backend, 1)) }
  } catch (error) {
    updates.dispose()
    throw error
  }
}

function scalar({ dtype }: Backend, value: number): Tensor<FloatArray> {
  return { data: DTYPES[dtype].array.of(value), shape: [] }
}
