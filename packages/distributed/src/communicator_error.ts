import { type ErrorCode, NamedError } from '@cudnn-rnn/canonical/rules'

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
export class CommunicatorError extends NamedError {
  static override readonly errorName = 'CommunicatorError'
  /** The library's function that failed, if one did. */
  readonly call: string | undefined
  /** Its text. */
  readonly detail: string | undefined
  /** Files and libraries that were tried, each with the reason why it was not used. */
  readonly attempts: readonly string[]

  constructor(
    code: ErrorCode,
    message: string,
    more: Partial<Pick<CommunicatorError, 'call' | 'detail' | 'attempts' | 'cause'>> = {},
  ) {
    super(code, message, more)
    this.call = more.call
    this.detail = more.detail
    this.attempts = more.attempts ?? []
  }
}
