import { thrownMessage, visibleMessage } from '@cudnn-rnn/canonical/rules'

/**
 * Invalid data; a program can catch it to show the position to its user.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { csvDataset, DataError } from '@cudnn-rnn/rnn/train'
 *
 * await writeFile('prices.csv', 'day,price\n1,20\n2\n')
 * try {
 *   for await (const _row of csvDataset('prices.csv'));
 * } catch (error) {
 *   if (error instanceof DataError) console.log(error.code, error.path, error.row) // ERR_DATA_RAGGED prices.csv 3
 * }
 * ```
 */
export class DataError extends Error {
  override readonly name = 'DataError'
  /** `ERR_DATA_EMPTY`, `ERR_DATA_RAGGED`, `ERR_DATA_VALUE`, `ERR_DATA_SYNTAX`, `ERR_DATA_COLUMN`, `ERR_DATA_CHANGED` or `ERR_DATA_IO`. */
  readonly code: string
  readonly path: string
  /** Counted from 1, as editors count lines; undefined when the file as a whole is meant. */
  readonly row: number | undefined
  readonly column: string | undefined

  constructor(
    code: string,
    message: string,
    place: { readonly path: string; readonly row?: number | undefined; readonly column?: string | undefined },
    options?: ErrorOptions,
  ) {
    super(visibleMessage(message), options)
    this.code = code
    this.path = place.path
    this.row = place.row
    this.column = place.column
  }
}

/** The error of a file that the system does not give: it is not there, a directory, or not permitted; `cause` is the system's. */
export function unreadable(path: string, cause: unknown): DataError {
  return new DataError('ERR_DATA_IO', `Cannot read ${path} (${thrownMessage(cause)})`, { path }, { cause })
}

/** Whether an error is one of the operating system, or of Node's permission model. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || ('code' in error && error.code === 'ERR_ACCESS_DENIED'))
}

/**
 * True for a {@link DataError} with one of `codes` (any when none is given), also one of another copy of this package.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { isDataError, jsonLinesDataset } from '@cudnn-rnn/rnn/train'
 *
 * await writeFile('empty.jsonl', '')
 * try {
 *   for await (const _row of jsonLinesDataset('empty.jsonl'));
 * } catch (error) {
 *   console.log(isDataError(error, 'ERR_DATA_EMPTY')) // true
 * }
 * ```
 */
export function isDataError(error: unknown, ...codes: string[]): error is DataError {
  if (!(error instanceof Error) || error.name !== 'DataError') return false
  return codes.length === 0 || ('code' in error && codes.includes(error.code as string))
}
