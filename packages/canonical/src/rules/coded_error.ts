import type { ErrorCode } from './error_code.js'
import { visibleMessage } from './visible_text.js'

/** A built-in error that also carries a stable `code` and the values of its message. */
export type CodedError<Base extends Error = Error> = Base & {
  readonly code: string
} & Readonly<Record<string, unknown>>

type Fields = Readonly<Record<string, unknown>>

/**
 * Makes a `RangeError`: a value of the right kind that is not allowed.
 *
 * @param code a row of docs/errors.md; part of the public API, never changed.
 * @param message "Cannot <action> as <rule>: current value is <value>".
 * @param fields the values of the message, attached as properties.
 */
export function codedRangeError(code: ErrorCode, message: string, fields?: Fields): CodedError<RangeError> {
  return coded(new RangeError(shown(message)), code, fields)
}

/** Makes a `TypeError`: a value of the wrong kind. Parameters as above. */
export function codedTypeError(code: ErrorCode, message: string, fields?: Fields): CodedError<TypeError> {
  return coded(new TypeError(shown(message)), code, fields)
}

/** Makes a plain `Error`: a failure that no argument caused. Parameters as above. */
export function codedError(code: ErrorCode, message: string, fields?: Fields): CodedError {
  return coded(new Error(shown(message)), code, fields)
}

function coded<Base extends Error>(error: Base, code: ErrorCode, fields: Fields = {}): CodedError<Base> {
  return Object.assign(error, fields, { code })
}

/**
 * True when `error` carries one of `codes` (any code when none is given).
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, hasErrorCode } from '@cudnn-rnn/rnn/canonical'
 *
 * try {
 *   createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 0, inputSize: 3 })
 * } catch (error) {
 *   if (!hasErrorCode(error, 'ERR_INVALID_OPTION')) throw error
 *   console.log(error.option, error.value) // numUnits 0
 * }
 * ```
 */
export function hasErrorCode(error: unknown, ...codes: string[]): error is CodedError {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false
  return codes.length === 0 || codes.includes(error.code)
}

function shown(message: string): string {
  if (typeof message === 'string') return visibleMessage(message)
  const text = `Cannot make an error as its message must be a string: current type is ${typeof message}`
  throw Object.assign(new TypeError(text), { code: 'ERR_INVALID_ARGUMENT' })
}
