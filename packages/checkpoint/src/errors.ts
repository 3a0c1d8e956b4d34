/** What went wrong with a checkpoint; part of the public API, never changed. */
export type CheckpointErrorCode =
  /** The file or directory is not there. */
  | 'ERR_CHECKPOINT_NOT_FOUND'
  /** The bytes are not those of a checkpoint, or were damaged. */
  | 'ERR_CHECKPOINT_CORRUPT'
  /** A checksum does not match. */
  | 'ERR_CHECKPOINT_CHECKSUM'
  /** Legal, but not readable here: big-endian data, a newer format, an unknown dtype. */
  | 'ERR_CHECKPOINT_UNSUPPORTED'
  /** No tensor of this name. */
  | 'ERR_TENSOR_NOT_FOUND'
  /** A tensor that cannot be written: two of one name, or data that does not fit its shape. */
  | 'ERR_TENSOR_INVALID'
  /** The operating system refused to read or write; `cause` is its error. */
  | 'ERR_CHECKPOINT_IO'
  /** Another process holds the lock of a directory. */
  | 'ERR_CHECKPOINT_LOCKED'

/** A checkpoint that cannot be read or written; nothing was changed. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError'
  readonly code: CheckpointErrorCode
  /** The file or prefix. */
  readonly path: string | undefined
  readonly tensorName: string | undefined

  constructor(
    code: CheckpointErrorCode,
    message: string,
    { path, tensorName, cause }: { path?: string | undefined; tensorName?: string | undefined; cause?: unknown } = {},
  ) {
    super(path === undefined ? message : `${message}: ${path}`, cause === undefined ? undefined : { cause })
    this.code = code
    this.path = path
    this.tensorName = tensorName
  }
}

/** True for a {@link CheckpointError} (also one of another copy of this package) with one of `codes`, or any. */
export function isCheckpointError(error: unknown, ...codes: CheckpointErrorCode[]): error is CheckpointError {
  if (!(error instanceof Error) || error.name !== 'CheckpointError' || !('code' in error)) return false
  return codes.length === 0 || codes.includes(error.code as CheckpointErrorCode)
}
