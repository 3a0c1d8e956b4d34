import { type ErrorCode, NamedError, thrownMessage } from '@cudnn-rnn/canonical/rules'

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
export class DataError extends NamedError {
  static override readonly errorName = 'DataError'
  readonly path: string
  /** Counted from 1, as editors count lines; undefined when the file as a whole is meant. */
  readonly row: number | undefined
  readonly column: string | undefined

  constructor(
    code: ErrorCode,
    message: string,
    place: { readonly path: string; readonly row?: number | undefined; readonly column?: string | undefined },
    options?: ErrorOptions,
  ) {
    super(code, message, options)
    this.path = place.path
    this.row = place.row
    this.column = place.column
  }
}

/** The error for a file that is missing, a directory, or not readable; `cause` is the system's error. */
export function unreadable(path: string, cause: unknown): DataError {
  return new DataError('ERR_DATA_IO', `Cannot read ${path} (${thrownMessage(cause)})`, { path }, { cause })
}

/** Whether an error is one of the operating system, or of Node's permission model. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || ('code' in error && error.code === 'ERR_ACCESS_DENIED'))
}
