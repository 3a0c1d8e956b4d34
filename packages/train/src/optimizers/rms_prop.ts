import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { checkHyperparameter } from '@cudnn-rnn/executor-kit'
import { checkOptimizer, type Definition, Optimizer, type WeightDecayOptions } from './optimizer.js'
import type { Trainable } from './trainable.js'

export interface RmsPropOptimizerOptions extends WeightDecayOptions {
  /** How much of the mean square remains; default 0.99 (PyTorch's alpha) or 0.9 (Keras' rho). */
  readonly decay?: number | undefined
  /** Default 0. */
  readonly momentum?: number | undefined
  /** Default 1e-8 (PyTorch) or 1e-7 (Keras). */
  readonly epsilon?: number | undefined
  readonly definition?: Definition | undefined
}

/** RMSProp (Hinton's lecture 6e), not centered. Equation: `DenseOps.applyRmsProp`. */
export class RmsProp extends Optimizer {
  readonly #options: Omit<Parameters<Backend['ops']['applyRmsProp']>[4], 'learningRate'>

  constructor(backend: Backend, variables: readonly Trainable[], options: RmsPropOptimizerOptions = {}) {
    checkOptimizer('build RMSProp', backend, variables, options, ['decay', 'momentum', 'epsilon', 'definition'])
    const inKeras = options.definition === 'tensorflow'
    const { decay = inKeras ? 0.9 : 0.99, momentum = 0, epsilon = inKeras ? 1e-7 : 1e-8 } = options
    checkHyperparameter('build RMSProp', 'decay', decay, { minimum: 0, below: 1 })
    checkHyperparameter('build RMSProp', 'momentum', momentum, { minimum: 0 })
    checkHyperparameter('build RMSProp', 'epsilon', epsilon, { minimum: 0 })
    super(backend, variables, ['RMSProp', 'RMSProp_1'], options)
    this.#options = { decay, momentum, epsilon, epsilonInRoot: inKeras, rateInVelocity: inKeras }
  }

  protected update(
    variable: BackendTensor,
    gradient: TensorLike,
    [meanSquare, velocity]: readonly BackendTensor[],
    learningRate: number,
  ): void {
    this.backend.ops.applyRmsProp(variable, meanSquare, velocity, gradient, { learningRate, ...this.#options })
  }
}
