import type { AdagradOptions, AdamOptions, MomentumOptions, RmsPropOptions } from '@cudnn-rnn/backend'
import { checkIsObject } from '@cudnn-rnn/canonical'
import { checkHyperparameter } from './dense_arguments.js'

/** Options with the contract's defaults in place. */
export type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> }

/** Fills in the defaults of {@link MomentumOptions}. Throws as `checkHyperparameter`. */
export function completeMomentum(action: string, options: MomentumOptions): Complete<MomentumOptions> {
  checkIsObject(action, 'options', options)
  const { learningRate, momentum, nesterov = false, rateInVelocity = false } = options
  checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
  checkHyperparameter(action, 'momentum', momentum, { minimum: 0 })
  return { learningRate, momentum, nesterov, rateInVelocity }
}

/** Fills in the defaults of {@link AdamOptions}. Throws as `checkHyperparameter`. */
export function completeAdam(action: string, options: AdamOptions): Complete<AdamOptions> {
  checkIsObject(action, 'options', options)
  const { learningRate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, step } = options
  checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
  checkHyperparameter(action, 'beta1', beta1, { minimum: 0, below: 1 })
  checkHyperparameter(action, 'beta2', beta2, { minimum: 0, below: 1 })
  checkHyperparameter(action, 'epsilon', epsilon, { minimum: 0 })
  checkHyperparameter(action, 'step', step, { minimum: 1 })
  return { learningRate, beta1, beta2, epsilon, step }
}

/** Fills in the defaults of {@link RmsPropOptions}. Throws as `checkHyperparameter`. */
export function completeRmsProp(action: string, options: RmsPropOptions): Complete<RmsPropOptions> {
  checkIsObject(action, 'options', options)
  const { learningRate, decay = 0.9, momentum = 0, rateInVelocity = false, epsilon, epsilonInRoot = false } = options
  checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
  checkHyperparameter(action, 'decay', decay, { minimum: 0, below: 1 })
  checkHyperparameter(action, 'momentum', momentum, { minimum: 0 })
  checkHyperparameter(action, 'epsilon', epsilon, { minimum: 0 })
  return { learningRate, decay, momentum, rateInVelocity, epsilon, epsilonInRoot }
}

/** Fills in the defaults of {@link AdagradOptions}. Throws as `checkHyperparameter`. */
export function completeAdagrad(action: string, options: AdagradOptions): Complete<AdagradOptions> {
  checkIsObject(action, 'options', options)
  const { learningRate, epsilon, epsilonInRoot = false } = options
  checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
  checkHyperparameter(action, 'epsilon', epsilon, { minimum: 0 })
  return { learningRate, epsilon, epsilonInRoot }
}
