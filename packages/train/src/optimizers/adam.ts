import { type Backend, type BackendTensor, DTYPES, type TensorLike } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import { checkHyperparameter } from '@cudnn-rnn/executor-kit'
import { checkOptimizer, type Definition, Optimizer, type WeightDecayOptions } from './optimizer.js'
import type { Trainable } from './trainable.js'

export interface AdamOptimizerOptions extends WeightDecayOptions {
  /** Default 0.9 */
  readonly beta1?: number | undefined
  /** Default 0.999 */
  readonly beta2?: number | undefined
  /** Default 1e-8 (PyTorch) or 1e-7 (Keras). */
  readonly epsilon?: number | undefined
  readonly definition?: Definition | undefined
}

/** Adam (Kingma & Ba 2015), and AdamW (Loshchilov & Hutter 2019) when `weightDecay` is set. */
export class Adam extends Optimizer {
  readonly #beta1: number
  readonly #beta2: number
  readonly #epsilon: number
  readonly #definition: Definition
  /** Counts updates on an executor with `steps`, where only the device determines which ones are skipped. */
  readonly #count: UpdateCount | undefined

  constructor(backend: Backend, variables: readonly Trainable[], options: AdamOptimizerOptions = {}) {
    checkOptimizer('build Adam', backend, variables, options, ['beta1', 'beta2', 'epsilon', 'definition'])
    const { beta1 = 0.9, beta2 = 0.999, definition = 'pytorch' } = options
    const epsilon = options.epsilon ?? (definition === 'tensorflow' ? 1e-7 : 1e-8)
    checkHyperparameter('build Adam', 'beta1', beta1, { minimum: 0, below: 1 })
    checkHyperparameter('build Adam', 'beta2', beta2, { minimum: 0, below: 1 })
    checkHyperparameter('build Adam', 'epsilon', epsilon, { minimum: 0 })
    super(backend, variables, ['Adam', 'Adam_1'], options)
    this.#beta1 = beta1
    this.#beta2 = beta2
    this.#epsilon = epsilon
    this.#definition = definition
    try {
      this.#count = backend.steps && updateCount(backend)
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

  protected update(
    variable: BackendTensor,
    gradient: TensorLike,
    [firstMoment, secondMoment]: readonly BackendTensor[],
    learningRate: number,
  ): void {
    const numbers = { learningRate, beta1: this.#beta1, beta2: this.#beta2, epsilon: this.#epsilon }
    this.backend.ops.applyAdam(variable, firstMoment, secondMoment, gradient, {
      ...numbers,
      epsilonHat: this.#definition === 'tensorflow',
      step: this.#count?.updates ?? this.step,
    })
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

function scalar({ dtype }: Backend, value: number): Tensor {
  return { data: DTYPES[dtype].array.of(value), shape: [] }
}
