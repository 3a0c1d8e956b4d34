import { type Backend, type BackendTensor, DTYPES, type TensorLike } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { checkHyperparameter } from '@cudnn-rnn/executor-kit'
import { checkOptimizer, type Definition, Optimizer, type WeightDecayOptions } from './optimizer.js'
import type { Trainable } from './trainable.js'

export interface AdagradOptimizerOptions extends WeightDecayOptions {
  /** Where the sums of squares start; default 0 (PyTorch) or 0.1 (Keras). */
  readonly initialAccumulator?: number | undefined
  /** Default 1e-10 (PyTorch) or 1e-7 (Keras). */
  readonly epsilon?: number | undefined
  readonly definition?: Definition | undefined
}

/** Adagrad (Duchi et al. 2011), diagonal. Equation: `DenseOps.applyAdagrad`. */
export class Adagrad extends Optimizer {
  readonly #root: { readonly epsilon: number; readonly epsilonInRoot: boolean }

  constructor(backend: Backend, variables: readonly Trainable[], options: AdagradOptimizerOptions = {}) {
    checkOptimizer('build Adagrad', backend, variables, options, ['initialAccumulator', 'epsilon', 'definition'])
    const inKeras = options.definition === 'tensorflow'
    const { initialAccumulator = inKeras ? 0.1 : 0, epsilon = inKeras ? 1e-7 : 1e-10 } = options
    checkHyperparameter('build Adagrad', 'initialAccumulator', initialAccumulator, { minimum: 0 })
    checkHyperparameter('build Adagrad', 'epsilon', epsilon, { minimum: 0 })
    super(backend, variables, ['Adagrad'], options)
    this.#root = { epsilon, epsilonInRoot: inKeras }
    for (const { value } of this.slots) {
      const data = new DTYPES[backend.dtype].array(elementCount(value.shape)).fill(initialAccumulator)
      backend.ops.assign(value, { data, shape: value.shape })
    }
  }

  protected update(
    variable: BackendTensor,
    gradient: TensorLike,
    [sumOfSquares]: readonly BackendTensor[],
    learningRate: number,
  ): void {
    this.backend.ops.applyAdagrad(variable, sumOfSquares, gradient, { learningRate, ...this.#root })
  }
}
