/** One thing that was tried to open an executor, and why it did not work. */
export interface BackendAttempt {
  readonly name: string
  readonly reason: string
}

/** An executor that was requested by name cannot work here. */
export class BackendUnavailableError extends Error {
  override readonly name = 'BackendUnavailableError'
  readonly code = 'ERR_BACKEND_UNAVAILABLE'
  readonly backend: string
  readonly attempts: readonly BackendAttempt[]
  /** The remedy, as a sentence. */
  readonly advice: string

  constructor(backend: string, attempts: readonly BackendAttempt[], advice: string, options?: ErrorOptions) {
    const tried = attempts.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
    super(`Cannot open backend "${backend}" as it does not work here (${tried}). ${advice}`, options)
    this.backend = backend
    this.attempts = attempts
    this.advice = advice
  }
}

/** True for a {@link BackendUnavailableError}, also one of another copy of this package. */
export function isBackendUnavailableError(error: unknown): error is BackendUnavailableError {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BACKEND_UNAVAILABLE'
}
