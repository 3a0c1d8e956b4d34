import { entryOf } from '@cudnn-rnn/canonical/rules'

interface PendingCall {
  readonly isStep: boolean
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

/** Calls of one stream that wait for the answer of its worker. */
export class PendingCalls {
  readonly #calls = new Map<number, PendingCall>()
  #steps = 0

  get size(): number {
    return this.#calls.size
  }

  /** Calls of `step` among them. */
  get steps(): number {
    return this.#steps
  }

  add<Result>(call: number, isStep: boolean): Promise<Result> {
    if (isStep) this.#steps++
    return new Promise((resolve, reject) => this.#calls.set(call, { isStep, resolve, reject }))
  }

  /** Settles a call that waits; returns whether it was a step. */
  settle(call: number, value: unknown, isError: boolean): boolean {
    const { isStep, resolve, reject } = entryOf(this.#calls, call)
    this.#calls.delete(call)
    if (isStep) this.#steps--
    if (isError) reject(value)
    else resolve(value as never)
    return isStep
  }

  rejectAll(reason: () => Error): void {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    this.#steps = 0
    for (const { reject } of calls) reject(reason())
  }
}
