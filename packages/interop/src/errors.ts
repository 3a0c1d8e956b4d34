/** What went wrong with a weight file; part of the public API, never changed. */
export type WeightFileErrorCode =
  /** There is no such file. */
  | 'ERR_WEIGHTS_NOT_FOUND'
  /** The operating system refused to read; `cause` is its error. */
  | 'ERR_WEIGHTS_IO'
  /** The bytes are of no format that is known here. */
  | 'ERR_WEIGHTS_FORMAT'
  /** The bytes are not what the format says, or were cut. */
  | 'ERR_WEIGHTS_CORRUPT'
  /** Legal, but not readable or not writable here. */
  | 'ERR_WEIGHTS_UNSUPPORTED'
  /** A pickle asks for something else than tensors and plain containers; nothing was executed. */
  | 'ERR_WEIGHTS_PICKLE'
  /** The same tensors can be read in more than one way; `readings` shows them. */
  | 'ERR_WEIGHTS_AMBIGUOUS'
  /** A network computes something that no model or cell here does. */
  | 'ERR_WEIGHTS_OTHER_FUNCTION'

/** An option of `importWeights` that decides between readings. */
export type DecidingOption = 'convention' | 'cellMode' | 'direction'

/** A weight file that cannot be read or written as asked; nothing was changed. */
export class WeightFileError extends Error {
  override readonly name = 'WeightFileError'
  readonly code: WeightFileErrorCode
  /** The file, where one was named. */
  readonly path: string | undefined
  /** For `ERR_WEIGHTS_AMBIGUOUS`: every reading, in words. */
  readonly readings: readonly string[]
  /** For `ERR_WEIGHTS_AMBIGUOUS`: the options of `importWeights` that can decide. */
  readonly decidedBy: readonly DecidingOption[]

  constructor(
    code: WeightFileErrorCode,
    message: string,
    {
      path,
      readings = [],
      decidedBy = [],
      cause,
    }: {
      path?: string | undefined
      readings?: readonly string[] | undefined
      decidedBy?: readonly DecidingOption[] | undefined
      cause?: unknown
    } = {},
  ) {
    super(path === undefined ? message : `${message}: ${path}`, cause === undefined ? undefined : { cause })
    this.code = code
    this.path = path
    this.readings = readings
    this.decidedBy = decidedBy
  }
}

/** True for a {@link WeightFileError} (also one of another copy of this package) with one of `codes`, or any. */
export function isWeightFileError(error: unknown, ...codes: WeightFileErrorCode[]): error is WeightFileError {
  if (!(error instanceof Error) || error.name !== 'WeightFileError' || !('code' in error)) return false
  return codes.length === 0 || codes.includes(error.code as WeightFileErrorCode)
}

/** The error of bytes that are not what their format says. */
export function corrupt(path: string, rule: string, cause?: unknown): WeightFileError {
  return new WeightFileError('ERR_WEIGHTS_CORRUPT', `Cannot read weight file as ${rule}`, { path, cause })
}

/** The error of a legal file that this package does not read. */
export function unsupported(path: string, rule: string): WeightFileError {
  return new WeightFileError('ERR_WEIGHTS_UNSUPPORTED', `Cannot read weight file as ${rule}`, { path })
}
