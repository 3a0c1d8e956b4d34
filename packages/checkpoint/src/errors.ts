import type { CheckpointErrorCode } from './error_codes.js'

export type { CheckpointErrorCode } from './error_codes.js'

import { visibleMessage } from '@cudnn-rnn/canonical/rules'

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
  readonly code: CheckpointErrorCode
  /** The file or prefix. */
  readonly path: string | undefined
  readonly tensorName: string | undefined

  constructor(
    code: CheckpointErrorCode,
    message: string,
    { path, tensorName, cause }: { path?: string | undefined; tensorName?: string | undefined; cause?: unknown } = {},
  ) {
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
export function isCheckpointError(error: unknown, ...codes: CheckpointErrorCode[]): error is CheckpointError {
  if (!(error instanceof Error) || error.name !== 'CheckpointError' || !('code' in error)) return false
  return codes.length === 0 || codes.includes(error.code as CheckpointErrorCode)
}
