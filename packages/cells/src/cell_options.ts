import {
  checkArguments,
  checkOptions,
  integerFrom,
  keyOf,
  NUMBER,
  nullable,
  type OptionRules,
  oneOf,
  optional,
  TEXT,
  where,
} from '@cudnn-rnn/arguments'
import type { FloatDType } from '@cudnn-rnn/backend'
import { ACTIVATIONS } from './activation.js'

/** Options of every cell and fused layer. */
export interface CellOptions {
  /** Scope of the variables in a checkpoint. Default: TensorFlow's for this class. */
  readonly name?: string | undefined
  /** Default `float32`. */
  readonly dtype?: FloatDType | undefined
}

/** Options of ONNX's recurrent operators that TensorFlow's cells lack. */
export interface PreactivationClip {
  /** Bound of the inputs of the gates' and the candidate's activations, > 0. Default null, none. */
  readonly preactivationClip?: number | null | undefined
}

/** Rules of {@link CellOptions}. */
export const COMMON_OPTIONS = { name: optional(TEXT), dtype: optional(oneOf(['float32', 'float64'])) }

/** H, I, P, B. */
export const SIZE = integerFrom(1)

/** A bound that null turns off. */
export const CLIP = nullable(where(NUMBER, 'a number > 0', (value: number) => value > 0))

export const ACTIVATION = optional(keyOf(ACTIVATIONS))

/**
 * Checks numUnits and the options.
 *
 * @param own rules of the options that not every cell has.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function checkCellOptions<Options extends CellOptions>(
  className: string,
  numUnits: number,
  options: Options,
  own: OptionRules<Omit<NoInfer<Options>, keyof CellOptions>>,
): void {
  const action = `build ${className}`
  checkArguments(action, { numUnits }, { numUnits: SIZE })
  checkOptions<object>(action, options, { ...own, ...COMMON_OPTIONS })
}

/** A clip that was checked, as the Infinity that clips nothing where it is null. */
export function clipBound(clip: number | null | undefined): number {
  return clip ?? Number.POSITIVE_INFINITY
}
