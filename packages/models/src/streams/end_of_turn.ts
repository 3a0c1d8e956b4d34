import { atEndOfTurn } from '@cudnn-rnn/canonical/rules'

/**
 * One task at a time, at the end of this turn of the event loop or some milliseconds later. Nothing is scheduled, and the
 * process is not kept alive, while no task is due.
 */
export class EndOfTurn {
  readonly #task: () => void
  #cancel: (() => void) | undefined
  #delayed = false

  constructor(task: () => void) {
    this.#task = task
  }

  /** Runs the task at the end of this turn, even where it was due later. */
  now(): void {
    if (this.#cancel !== undefined && !this.#delayed) return
    this.cancel()
    this.#cancel = atEndOfTurn(() => this.#run())
  }

  /** Runs the task in `delayMs`, unless it is due before. */
  after(delayMs: number): void {
    if (this.#cancel !== undefined) return
    const handle = setTimeout(() => this.#run(), delayMs)
    this.#delayed = true
    this.#cancel = () => clearTimeout(handle)
  }

  cancel(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#delayed = false
  }

  #run(): void {
    this.#cancel = undefined
    this.#delayed = false
    this.#task()
  }
}
