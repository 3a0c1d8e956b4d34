import type { FloatDType } from '@cudnn-rnn/backend'
import { checkOptionNames, codedRangeError } from '@cudnn-rnn/canonical'
import { ACTIVATIONS, type Activation } from './activation.js'

/** What every cell and fused layer can be given. */
export interface CellOptions {
  /** Scope of the variables in a checkpoint. Default: TensorFlow's for this class. */
  readonly name?: string | undefined
  /** Default `float32`. */
  readonly dtype?: FloatDType | undefined
}

/** What ONNX's recurrent operators have and TensorFlow's cells do not. */
export interface PreactivationClip {
  /** Bound of what goes into the gates' and the candidate's activations, > 0. Default null, none. */
  readonly preactivationClip?: number | null | undefined
}

const COMMON_OPTIONS = ['name', 'dtype']

/**
 * Checks option names, numUnits and dtype.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export function checkCellOptions(className: string, numUnits: number, options: CellOptions, own: string[] = []): void {
  checkOptionNames(`build ${className}`, options, [...own, ...COMMON_OPTIONS])
  checkSize(className, 'numUnits', numUnits)
  if (options.dtype !== undefined && options.dtype !== 'float32' && options.dtype !== 'float64') {
    throw invalidOption(className, 'dtype', 'must be float32 or float64', options.dtype)
  }
}

/** Throws `ERR_INVALID_OPTION` unless `value` is an integer >= 1. */
export function checkSize(className: string, option: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw invalidOption(className, option, 'must be an integer >= 1', value)
  }
}

/** The value, or throws `ERR_INVALID_OPTION` where it is not a finite number. */
export function finiteNumber(className: string, option: string, value: number): number {
  if (Number.isFinite(value)) return value
  throw invalidOption(className, option, 'must be a finite number', value)
}

/** A clip that null turns off, as the Infinity that clips nothing. */
export function positiveClip(className: string, option: string, value: number | null | undefined): number {
  if (value === null || value === undefined) return Number.POSITIVE_INFINITY
  if (value > 0) return value
  throw invalidOption(className, option, 'must be > 0, or null for no clip', value)
}

/** Throws `ERR_INVALID_OPTION` for an activation that is not in the table. */
export function checkedActivation(className: string, activation: Activation | undefined): Activation {
  const name = activation ?? 'tanh'
  if (Object.hasOwn(ACTIVATIONS, name)) return name
  throw invalidOption(className, 'activation', `must be one of ${Object.keys(ACTIVATIONS).join(', ')}`, name)
}

function invalidOption(className: string, option: string, rule: string, value: unknown) {
  return codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot build ${className} as ${option} ${rule}: current value is ${String(value)}`,
    { option, value },
  )
}
