import { type ErrorCode, NamedError, thrownMessage } from '@cudnn-rnn/canonical/rules'

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
export class CheckpointError extends NamedError {
  static override readonly errorName = 'CheckpointError'
  /** The file or prefix. */
  readonly path: string | undefined
  readonly tensorName: string | undefined

  constructor(code: ErrorCode, message: string, { path, tensorName, cause }: ErrorPlace = {}) {
    super(code, path === undefined ? message : `${message}: ${path}`, { cause })
    this.path = path
    this.tensorName = tensorName
  }
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
