import { visibleText } from '@cudnn-rnn/canonical/rules'
import { UNREADABLE } from './tcp_peer.js'

/** Characters of a call's name. */
const LONGEST_NAME = 64

/** The collective calls of one rank: as it reports them to the others. */
export interface Progress {
  /** Calls begun. */
  readonly sequence: number
  /** Calls that have not ended: number and name. */
  readonly pending: readonly (readonly [sequence: number, name: string])[]
  /** Since the last call began or ended. */
  readonly seconds: number
}

/** Counts collective calls. All ranks make the same calls, so that equal numbers are the same call. */
export class CallProgress {
  #sequence = 0
  #changed = performance.now()
  readonly #pending = new Map<number, string>()

  /** @returns the number of the call, for `end` */
  begin(name: string): number {
    this.#sequence++
    this.#pending.set(this.#sequence, name)
    this.#changed = performance.now()
    return this.#sequence
  }

  end(sequence: number): void {
    this.#pending.delete(sequence)
    this.#changed = performance.now()
  }

  get current(): Progress {
    const seconds = (performance.now() - this.#changed) / 1000
    return { sequence: this.#sequence, pending: [...this.#pending], seconds }
  }
}

/** The progress that another rank sent. Throws an Error for anything else. */
export function progressOf(value: unknown): Progress {
  const { sequence, pending, seconds } = (value ?? {}) as Partial<Progress>
  const isCall = (call: unknown): call is [number, string] =>
    Array.isArray(call) && Number.isSafeInteger(call[0]) && typeof call[1] === 'string'
  if (
    !Number.isSafeInteger(sequence) ||
    !Number.isFinite(seconds) ||
    !Array.isArray(pending) ||
    !pending.every(isCall)
  ) {
    throw new Error(UNREADABLE)
  }
  const named = pending.map(([number, name]) => [number, visibleText(name.slice(0, LONGEST_NAME))] as const)
  return { sequence: sequence as number, pending: named, seconds: seconds as number }
}

/** The place of a rank that has not come to call `sequence`, `name`; undefined if it has. */
export function whereElse(report: Progress | undefined, sequence: number, name: string): string | undefined {
  if (report === undefined) return 'does not answer'
  const other = report.pending.find(([number]) => number === sequence)?.[1]
  if (report.sequence >= sequence) {
    return other === undefined || other === name ? undefined : `is in ${other} (call ${sequence})`
  }
  const last = report.pending.at(-1)
  if (last !== undefined) return `is in ${last[1]} (call ${last[0]})`
  return `is in no call since ${report.seconds.toFixed(1)} s (its last was call ${report.sequence})`
}
