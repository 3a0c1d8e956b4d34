/** Data that cannot be used: what a program would catch to name the place to its user. */
export class DataError extends Error {
  override readonly name = 'DataError'
  /** `ERR_DATA_EMPTY`, `ERR_DATA_RAGGED`, `ERR_DATA_VALUE`, `ERR_DATA_SYNTAX`, `ERR_DATA_COLUMN` or `ERR_DATA_CHANGED`. */
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
    super(message, options)
    this.code = code
    this.path = place.path
    this.row = place.row
    this.column = place.column
  }
}

/** True for a {@link DataError} with one of `codes` (any when none is given), also one of another copy of this package. */
export function isDataError(error: unknown, ...codes: string[]): error is DataError {
  if (!(error instanceof Error) || error.name !== 'DataError') return false
  return codes.length === 0 || ('code' in error && codes.includes(error.code as string))
}
