import type { ErrorCode } from '@cudnn-rnn/canonical/rules'

/**
 * An error of opening or using a communicator.
 *
 * @example
 * ```ts
 * import { CommunicatorError, detectLauncher } from '@cudnn-rnn/rnn/distributed'
 *
 * try {
 *   detectLauncher({ OMPI_COMM_WORLD_RANK: 'first', OMPI_COMM_WORLD_SIZE: '2' })
 * } catch (error) {
 *   if (error instanceof CommunicatorError) console.log(error.code) // ERR_LAUNCHER_ENVIRONMENT
 * }
 * ```
 */
export class CommunicatorError extends Error {
  override readonly name = 'CommunicatorError'
  readonly code: ErrorCode
  /** The library's function that failed, if one did. */
  readonly call: string | undefined
  /** Its text. */
  readonly detail: string | undefined
  /** Files and libraries that were tried, each with the reason why it was not used. */
  readonly attempts: readonly string[]

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      readonly call?: string | undefined
      readonly detail?: string | undefined
      readonly attempts?: readonly string[] | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause })
    this.code = code
    this.call = more.call
    this.detail = more.detail
    this.attempts = more.attempts ?? []
  }
}

/**
 * True for a {@link CommunicatorError} with one of `codes` (any when none is given), also one of another copy of this package.
 *
 * @example
 * ```ts
 * import { isCommunicatorError, openCommunicator } from '@cudnn-rnn/rnn/distributed'
 *
 * const world = await openCommunicator('none')
 * await world.dispose()
 * try {
 *   await world.barrier()
 * } catch (error) {
 *   console.log(isCommunicatorError(error, 'ERR_COMMUNICATOR_CLOSED')) // true
 * }
 * ```
 */
export function isCommunicatorError(error: unknown, ...codes: ErrorCode[]): error is CommunicatorError {
  if (!(error instanceof Error) || error.name !== 'CommunicatorError') return false
  return codes.length === 0 || ('code' in error && codes.includes(error.code as ErrorCode))
}
