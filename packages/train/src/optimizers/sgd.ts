import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { checkHyperparameter } from '@cudnn-rnn/executor-kit'
import { checkOptimizer, type Definition, Optimizer, type WeightDecayOptions } from './optimizer.js'
import type { Trainable } from './trainable.js'

export interface SgdOptions extends WeightDecayOptions {
  /** Default 0: plain gradient descent, without a slot. */
  readonly momentum?: number | undefined
  /** Default false. */
  readonly nesterov?: boolean | undefined
  readonly definition?: Definition | undefined
}

/** Gradient descent, with momentum or Nesterov's look-ahead. Equations: `DenseOps.applySgd`, `applyMomentum`. */
export class Sgd extends Optimizer {
  readonly #momentum: number
  readonly #nesterov: boolean
  readonly #rateInVelocity: boolean

  constructor(backend: Backend, variables: readonly Trainable[], options: SgdOptions = {}) {
    checkOptimizer('build SGD', backend, variables, options, ['momentum', 'nesterov', 'definition'])
    const { momentum = 0, nesterov = false, definition = 'pytorch' } = options
    checkHyperparameter('build SGD', 'momentum', momentum, { minimum: 0 })
    super(backend, variables, momentum === 0 ? [] : ['Momentum'], options)
    this.#momentum = momentum
    this.#nesterov = nesterov
    this.#rateInVelocity = definition === 'tensorflow'
  }

  protected update(
    variable: BackendTensor,
    gradient: TensorLike,
    [velocity]: readonly BackendTensor[],
    learningRate: number,
  ): void {
    const { ops } = this.backend
    if (velocity === undefined) ops.applySgd(variable, gradient, { learningRate })
    else {
      const options = { momentum: this.#momentum, nesterov: this.#nesterov, rateInVelocity: this.#rateInVelocity }
      ops.applyMomentum(variable, velocity, gradient, { learningRate, ...options })
    }
  }
}
