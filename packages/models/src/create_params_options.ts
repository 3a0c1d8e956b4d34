import { type CanonicalParams, type CellMode, checkOptionNames, describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'
import type { InitializerOptions } from './initializers.js'

export interface CreateParamsOptions extends InitializerOptions {
  /** Values of the canonical tensors, such as those of an imported network; then there is nothing to initialize. */
  readonly canonical?: CanonicalParams | undefined
  /** Name of the variable. Default `opaque_kernel`, as in TensorFlow. */
  readonly name?: string | undefined
}

const CREATE_PARAMS_OPTION_NAMES = [
  'seed',
  'kernelInitializer',
  'biasInitializer',
  'forgetBias',
  'canonical',
  'name',
] as const

/** Throws RangeError `ERR_NOT_LSTM` for a forget bias of another cell, `ERR_INVALID_OPTION` for an initializer beside values. */
export function checkCreateParamsOptions(options: CreateParamsOptions, rnnMode: CellMode): void {
  checkOptionNames('create parameters', options, CREATE_PARAMS_OPTION_NAMES)
  if (options.forgetBias !== undefined && rnnMode !== 'lstm') {
    throw codedRangeError(
      'ERR_NOT_LSTM',
      `Cannot create parameters as forgetBias needs a forget gate, which only an LSTM has: current cell is ${rnnMode}`,
      { option: 'forgetBias', cellMode: rnnMode },
    )
  }
  if (options.canonical === undefined) return
  for (const option of ['seed', 'kernelInitializer', 'biasInitializer', 'forgetBias'] as const) {
    if (options[option] === undefined) continue
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot create parameters as ${option} must be absent where canonical holds the values: current value is ${describeValue(options[option])}`,
      { option, value: options[option] },
    )
  }
}
