import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
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
  }

  protected update(
    variable: BackendTensor,
    gradient: TensorLike,
    [firstMoment, secondMoment]: readonly BackendTensor[],
    learningRate: number,
  ): void {
    const { step } = this
    // TensorFlow adds ε to √v before the bias correction (the paper's ε̂); the executor adds it after.
    const correction = this.#definition === 'tensorflow' ? Math.sqrt(1 - this.#beta2 ** step) : 1
    const options = { beta1: this.#beta1, beta2: this.#beta2, epsilon: this.#epsilon / correction }
    this.backend.ops.applyAdam(variable, firstMoment!, secondMoment!, gradient, { learningRate, step, ...options })
  }
}
