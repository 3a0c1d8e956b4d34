import { type ErrorCode, thrownMessage, visibleMessage } from '@cudnn-rnn/canonical/rules'

/** The subject of an error, and its cause. */
interface ErrorPlace {
  readonly path?: string | undefined
  readonly tensorName?: string | undefined
  readonly cause?: unknown
}

/**
 * A checkpoint that cannot be read or written; nothing was changed.
 *
 * @example
 * ```ts
 * import { CheckpointError, openCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * try {
 *   await openCheckpoint('no-such-model')
 * } catch (error) {
 *   if (error instanceof CheckpointError) console.log(error.code) // ERR_CHECKPOINT_NOT_FOUND
 * }
 * ```
 */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError'
  readonly code: ErrorCode
  /** The file or prefix. */
  readonly path: string | undefined
  readonly tensorName: string | undefined

  constructor(code: ErrorCode, message: string, { path, tensorName, cause }: ErrorPlace = {}) {
    super(
      visibleMessage(path === undefined ? message : `${message}: ${path}`),
      cause === undefined ? undefined : { cause },
    )
    this.code = code
    this.path = path
    this.tensorName = tensorName
  }
}

/**
 * True for a {@link CheckpointError} (also one of another copy of this package) with one of `codes`, or any.
 *
 * @example
 * ```ts
 * import { isCheckpointError, openCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * try {
 *   await openCheckpoint('no-such-model')
 * } catch (error) {
 *   console.log(isCheckpointError(error, 'ERR_CHECKPOINT_NOT_FOUND'), isCheckpointError(new Error())) // true false
 * }
 * ```
 */
export function isCheckpointError(error: unknown, ...codes: ErrorCode[]): error is CheckpointError {
  if (!(error instanceof Error) || error.name !== 'CheckpointError' || !('code' in error)) return false
  return codes.length === 0 || codes.includes(error.code as ErrorCode)
}

/** The error of bytes that violate their format. */
export function corrupt(what: string, rule: string, place?: ErrorPlace): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_CORRUPT', `Cannot read ${what} as ${rule}`, place)
}

/** The error of bytes that are not the written ones. */
export function damaged(what: string, rule: string, place: ErrorPlace): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_CHECKSUM', `Cannot read ${what} as ${rule}`, place)
}

/** What {@link damaged} says of a checksum for a whole block or tensor. */
export const WRONG_CHECKSUM =
  'its checksum is wrong (the file was damaged after it was written: restore an older checkpoint)'

/** The error of a legal file that this package does not read. */
export function unsupported(what: string, rule: string, place: ErrorPlace): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_UNSUPPORTED', `Cannot read ${what} as ${rule}`, place)
}

/** The error of an operation that the system refused. */
export function ioError(action: string, path: string, cause: unknown): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_IO', `Cannot ${action} (${thrownMessage(cause)})`, { path, cause })
}
