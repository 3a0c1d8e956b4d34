import { NamedError } from '@cudnn-rnn/canonical/rules'

/** One thing that was tried to open an executor, and why it did not work. */
export interface BackendAttempt {
  readonly name: string
  readonly reason: string
}

/**
 * An executor that was requested by name cannot work here.
 *
 * @example
 * ```ts
 * import { BackendUnavailableError } from '@cudnn-rnn/rnn/executors'
 *
 * const attempts = [{ name: 'addon', reason: 'not built' }]
 * const error = new BackendUnavailableError('cpu', attempts, 'Run npm run build:native.')
 * console.log(error.code, error.backend, error.advice) // ERR_BACKEND_UNAVAILABLE cpu Run npm run build:native.
 * ```
 */
export class BackendUnavailableError extends NamedError {
  static override readonly errorName = 'BackendUnavailableError'
  readonly backend: string
  readonly attempts: readonly BackendAttempt[]
  /** The remedy, as a sentence. */
  readonly advice: string

  constructor(backend: string, attempts: readonly BackendAttempt[], advice: string, options?: ErrorOptions) {
    const tried = attempts.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
    super(
      'ERR_BACKEND_UNAVAILABLE',
      `Cannot open backend "${backend}" as it does not work here (${tried}). ${advice}`,
      options,
    )
    this.backend = backend
    this.attempts = attempts
    this.advice = advice
  }
}
