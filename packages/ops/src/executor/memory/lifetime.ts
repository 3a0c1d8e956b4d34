import { codedRangeError } from '@cudnn-rnn/canonical/rules'

const REFUSALS = Object.freeze({
  backend: { code: 'ERR_BACKEND_DISPOSED', rule: 'the backend was disposed' },
  rnn: { code: 'ERR_RNN_DISPOSED', rule: 'the network was disposed' },
  stepper: { code: 'ERR_STREAM_DISPOSED', rule: 'it was disposed' },
} as const)

/** How long an executor, or something it made, can be used: until it is disposed, or the executor is. */
export class Lifetime {
  readonly #kind: keyof typeof REFUSALS
  readonly #executor: Lifetime | undefined
  #ended = false

  constructor(kind: keyof typeof REFUSALS, executor?: Lifetime) {
    this.#kind = kind
    this.#executor = executor
  }

  get ended(): boolean {
    return this.#ended || this.#executor?.ended === true
  }

  /** Throws RangeError `ERR_BACKEND_DISPOSED`, `ERR_RNN_DISPOSED` or `ERR_STREAM_DISPOSED` once it has ended. */
  check(action: string): void {
    if (this.#ended) {
      const { code, rule } = REFUSALS[this.#kind]
      throw codedRangeError(code, `Cannot ${action} as ${rule}`)
    }
    this.#executor?.check(action)
  }

  /** Ends it; false if it had ended before. */
  end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    return true
  }
}
