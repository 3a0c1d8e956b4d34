/** Present on some platforms (Node.js, Deno, Bun): runs after the input of this turn of the event loop was delivered. */
interface ImmediateTasks {
  readonly setImmediate?: (task: () => void) => unknown
  readonly clearImmediate?: (handle: unknown) => void
}

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
    const { setImmediate, clearImmediate } = globalThis as ImmediateTasks
    if (setImmediate === undefined || clearImmediate === undefined) {
      this.#cancel = postedTask(() => this.#run())
      return
    }
    const handle = setImmediate(() => this.#run())
    this.#cancel = () => clearImmediate(handle)
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

/** Browsers have no `setImmediate`, and delay nested timers by 4 ms: a message to oneself is a task without that delay. */
function postedTask(task: () => void): () => void {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    task()
  }
  port2.postMessage(null)
  return () => port1.close()
}
