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

/** Adam's numbers. Where the device counts the updates, `step` is NaN; else ε is as it is added after the bias correction. */
export type AdamNumbers = Complete<Omit<AdamOptions, 'step'>> & { readonly step: number }

/**
 * Fills in the defaults of {@link AdamOptions}. Throws as `checkHyperparameter`.
 *
 * @param isCounted the step is a tensor of the executor
 */
export function completeAdam(action: string, options: AdamOptions, isCounted: boolean): AdamNumbers {
  const { learningRate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, epsilonHat = false } = options
  checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
  checkHyperparameter(action, 'beta1', beta1, { minimum: 0, below: 1 })
  checkHyperparameter(action, 'beta2', beta2, { minimum: 0, below: 1 })
  checkHyperparameter(action, 'epsilon', epsilon, { minimum: 0 })
  if (isCounted) return { learningRate, beta1, beta2, epsilon, epsilonHat, step: Number.NaN }
  const step = options.step as number
  checkHyperparameter(action, 'step', step, { minimum: 1 })
  const added = epsilonHat ? epsilon / Math.sqrt(1 - beta2 ** step) : epsilon
  return { learningRate, beta1, beta2, epsilon: added, epsilonHat: false, step }
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
