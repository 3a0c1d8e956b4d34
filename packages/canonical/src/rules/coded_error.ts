import { visibleMessage } from './visible_text.js'

/** A built-in error that also carries a stable `code` and the values of its message. */
export type CodedError<Base extends Error = Error> = Base & {
  readonly code: string
} & Readonly<Record<string, unknown>>

type Fields = Readonly<Record<string, unknown>>

/** Makers of built-in errors with a stable code, which is one of `Code`. */
export interface CodedErrors<Code extends string> {
  /**
   * Makes a `RangeError`: a value of the right kind that is not allowed.
   *
   * @param code `ERR_…`; part of the public API, never changed.
   * @param message "Cannot <action> as <rule>: current value is <value>".
   * @param fields the values of the message, attached as properties.
   */
  codedRangeError(code: Code, message: string, fields?: Fields): CodedError<RangeError>
  /** Makes a `TypeError`: a value of the wrong kind. Parameters as above. */
  codedTypeError(code: Code, message: string, fields?: Fields): CodedError<TypeError>
  /** Makes a plain `Error`: a failure that no argument caused. Parameters as above. */
  codedError(code: Code, message: string, fields?: Fields): CodedError
}

/**
 * The makers of a package's errors. A package calls this once, in src/coded_error.ts, with the codes of its
 * src/error_codes.ts and of the packages whose codes it also throws; the compiler refuses every other code.
 */
export function codedErrors<Code extends string>(): CodedErrors<Code> {
  return MAKERS
}

const MAKERS: CodedErrors<string> = Object.freeze({
  codedRangeError: (code: string, message: string, fields?: Fields) =>
    coded(new RangeError(shown(message)), code, fields),
  codedTypeError: (code: string, message: string, fields?: Fields) =>
    coded(new TypeError(shown(message)), code, fields),
  codedError: (code: string, message: string, fields?: Fields) => coded(new Error(shown(message)), code, fields),
})

function coded<Base extends Error>(error: Base, code: string, fields: Fields = {}): CodedError<Base> {
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
