import { visibleMessage } from '@cudnn-rnn/text'

/** A built-in error that also carries a stable `code` and the values of its message. */
export type CodedError<Base extends Error = Error> = Base & {
  readonly code: string
} & Readonly<Record<string, unknown>>

/**
 * Makes a `RangeError` (a value of the right kind that is not allowed) with a stable `code`.
 *
 * @param code `ERR_…`; part of the public API, never changed.
 * @param message "Cannot <action> as <rule>: current value is <value>".
 * @param fields the values of the message, attached as properties.
 */
export function codedRangeError(
  code: string,
  message: string,
  fields: Record<string, unknown> = {},
): CodedError<RangeError> {
  return Object.assign(new RangeError(shown(message)), fields, { code })
}

/** Makes a `TypeError` (a value of the wrong kind) with a stable `code`; parameters as {@link codedRangeError}. */
export function codedTypeError(
  code: string,
  message: string,
  fields: Record<string, unknown> = {},
): CodedError<TypeError> {
  return Object.assign(new TypeError(shown(message)), fields, { code })
}

/** True when `error` carries one of `codes` (any code when none is given). */
export function hasErrorCode(error: unknown, ...codes: string[]): error is CodedError {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false
  return codes.length === 0 || codes.includes(error.code)
}

function shown(message: string): string {
  if (typeof message === 'string') return visibleMessage(message)
  const text = `Cannot make an error as its message must be a string: current type is ${typeof message}`
  throw Object.assign(new TypeError(text), { code: 'ERR_INVALID_ARGUMENT' })
}
