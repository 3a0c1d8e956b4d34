import type { BackendStats } from '@cudnn-rnn/backend'

/** Counts what is alive; every owner adds itself when it is made and removes itself when it is disposed. */
export class Ledger {
  readonly #counts = { tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 }

  add(kind: Exclude<keyof BackendStats, 'bytes'>, bytes = 0): void {
    this.#counts[kind]++
    this.#counts.bytes += bytes
  }

  remove(kind: Exclude<keyof BackendStats, 'bytes'>, bytes = 0): void {
    this.#counts[kind]--
    this.#counts.bytes -= bytes
  }

  /** Bytes that something counted already has come to hold, or let go of (negative). */
  hold(bytes: number): void {
    this.#counts.bytes += bytes
  }

  snapshot(): BackendStats {
    return { ...this.#counts }
  }
}
