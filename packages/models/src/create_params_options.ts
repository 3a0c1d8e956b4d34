import type { CanonicalParams, CellMode } from '@cudnn-rnn/canonical'
import {
  checkOptions,
  codedRangeError,
  invalidOption,
  OBJECT,
  type OptionsOf,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { INITIALIZER_OPTIONS, type InitializerOptions } from './initializers.js'

const OPTIONS = {
  ...INITIALIZER_OPTIONS,
  /**
   * Values of the canonical tensors, such as an imported network's, float32 or float64; then there is nothing to
   * initialize.
   */
  canonical: optional<CanonicalParams>(OBJECT),
  /** Name of the variable. Default `opaque_kernel`, as in TensorFlow. */
  name: optional(TEXT),
}

/** Options of `createParams`. */
export interface CreateParamsOptions extends InitializerOptions, OptionsOf<typeof OPTIONS> {}

/** Throws RangeError `ERR_NOT_LSTM` for a forget bias of another cell, `ERR_INVALID_OPTION` for an initializer beside values. */
export function checkCreateParamsOptions(options: CreateParamsOptions, rnnMode: CellMode): void {
  const given = checkOptions('create parameters', options, OPTIONS)
  if (given.forgetBias !== undefined && rnnMode !== 'lstm') {
    throw codedRangeError(
      'ERR_NOT_LSTM',
      `Cannot create parameters as forgetBias needs a forget gate, which only an LSTM has: current cell is ${rnnMode}`,
      { option: 'forgetBias', cellMode: rnnMode },
    )
  }
  if (given.canonical === undefined) return
  for (const option of ['seed', 'kernelInitializer', 'biasInitializer', 'forgetBias'] as const) {
    if (given[option] === undefined) continue
    throw invalidOption('create parameters', option, 'absent where canonical holds the values', given[option])
  }
}
