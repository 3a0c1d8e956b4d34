import { checkOptionValues, either, FUNCTION, keyOf, OBJECT, optional } from '@cudnn-rnn/canonical/rules'
import {
  backendOf,
  checkOptimizes,
  type GradientTape,
  lossGradients,
  type TapeVariable,
  type Value,
  variablesIn,
} from '@cudnn-rnn/ops/executor'
import { type MakeOptimizer, OPTIMIZERS, type OptimizerName } from '../optimizers/named_optimizer.js'
import type { Optimizer } from '../optimizers/optimizer.js'
import type { FitOptions } from './fit_options.js'

/** Options of `fit` by a loss, whose gradients follow. */
export interface LossFitOptions<Batch>
  extends Omit<FitOptions<Batch>, 'batchGradients' | 'optimizer' | 'learningRate' | 'maxSteps'>,
    Partial<Pick<FitOptions<Batch>, 'learningRate' | 'maxSteps'>> {
  /** The variables that are trained, in any structure; all others that the loss uses are constants. */
  readonly variables: readonly TapeVariable[] | { readonly [name: string]: TapeVariable }
  /** The loss of a batch, a scalar on a tape. */
  readonly loss: (t: GradientTape, batch: Batch) => Value | Promise<Value>
  /**
   * Default `adam`. `momentum` is SGD with momentum 0.9, `adamw` Adam with a weight decay of 0.01. An optimizer of your own keeps its
   * moments from call to call and is not disposed.
   */
  readonly optimizer?: OptimizerName | MakeOptimizer | Optimizer | undefined
}

const ACTION = 'fit'
const DEFAULT_RATE = 0.001
const RULES = {
  loss: FUNCTION,
  optimizer: optional<OptimizerName | MakeOptimizer | Optimizer>(either(keyOf(OPTIMIZERS), FUNCTION, OBJECT)),
}

/** The options of a training by gradients, and the optimizer that was made for it. */
export function gradientOptions<Batch>(
  options: LossFitOptions<Batch>,
): readonly [options: FitOptions<Batch>, made: Optimizer | undefined] {
  const { variables: given, loss, optimizer = 'adam', ...rest } = options
  checkOptionValues(ACTION, { loss, optimizer }, RULES)
  const variables = variablesIn(ACTION, given, 'variables')
  const backend = backendOf(ACTION, variables)
  const isCallers = typeof optimizer === 'object'
  const used = isCallers ? optimizer : (typeof optimizer === 'function' ? optimizer : OPTIMIZERS[optimizer])(variables)
  checkOptimizes(ACTION, used, variables, isCallers)
  const complete = {
    learningRate: DEFAULT_RATE,
    maxSteps: Number.MAX_SAFE_INTEGER,
    ...rest,
    optimizer: used,
    batchGradients: (batch: Batch) => lossGradients(backend, variables, (t) => loss(t, batch)),
  }
  return [complete, isCallers ? undefined : used]
}
