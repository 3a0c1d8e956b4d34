import type { FloatDType, TensorLike } from '@cudnn-rnn/backend'
import { checkIsObject, checkOptionNames } from '@cudnn-rnn/canonical'
import { checkHyperparameter } from './dense_arguments.js'
import type { PhasedGateOptions } from './operation_options.js'
import { checkTensor } from './tensor_arguments.js'

/** The operands of phased gates: times [B,1] and three vectors [U]. */
export interface PhasedGateOperands {
  readonly times: TensorLike
  readonly period: TensorLike
  readonly phase: TensorLike
  readonly ratioOn: TensorLike
}

export interface PhasedGateSizes {
  readonly batch: number
  readonly units: number
}

/** Checks operands that belong to the executor; throws as {@link checkTensor}. */
export function checkPhasedGate(
  action: string,
  dtype: FloatDType,
  { times, period, phase, ratioOn }: PhasedGateOperands,
): PhasedGateSizes {
  const batch = checkTensor(action, 'times', times, { dtype, shape: ['B', 1] }).shape[0]
  const units = checkTensor(action, 'variables.period', period, { dtype, shape: ['U'] }).shape[0]
  checkTensor(action, 'variables.phase', phase, { dtype, shape: [units] })
  checkTensor(action, 'variables.ratioOn', ratioOn, { dtype, shape: [units] })
  return { batch, units }
}

/** The leak of checked options; RangeError `ERR_HYPERPARAMETER`. */
export function completePhasedGate(action: string, options: PhasedGateOptions): number {
  checkIsObject(action, 'options', options)
  checkOptionNames(action, options, ['leak'])
  checkHyperparameter(action, 'leak', options.leak)
  return options.leak
}
