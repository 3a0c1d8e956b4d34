import { type ServedPool, serveStreams } from '../../src/index.js'
import type { WorkerThread } from '../../src/threads/stream_worker.js'

class Listeners {
  readonly #listeners: { readonly event: string; readonly listener: (...values: never[]) => void }[] = []

  on(event: string, listener: (...values: never[]) => void): void {
    this.#listeners.push({ event, listener })
  }

  emit(event: string, value: unknown): void {
    for (const each of this.#listeners) if (each.event === event) each.listener(value as never)
  }
}

/** A worker thread in this one: messages are cloned and delivered in a later task, as between threads. */
export class LinkedThread implements WorkerThread {
  /** Messages to the thread and from it, in their order. */
  readonly sent: unknown[] = []
  readonly received: unknown[] = []
  refs = 0
  terminations = 0
  readonly #main = new Listeners()
  readonly #worker = new Listeners()
  #ended = false

  on(event: 'message' | 'error' | 'exit', listener: (...values: never[]) => void): this {
    this.#main.on(event, listener)
    return this
  }

  postMessage(message: unknown, transfer: readonly ArrayBuffer[] = []): void {
    const copy = structuredClone(message, { transfer: [...transfer] })
    this.sent.push(copy)
    setTimeout(() => {
      if (!this.#ended) this.#worker.emit('message', copy)
    })
  }

  /** The program of the thread: serves `pool`. */
  serve<State>(pool: ServedPool<State>): this {
    serveStreams(
      {
        on: (_, listener) => this.#worker.on('message', listener),
        postMessage: (message, transfer = []) => {
          const copy = structuredClone(message, { transfer: [...transfer] })
          this.received.push(copy)
          setTimeout(() => {
            if (!this.#ended) this.#main.emit('message', copy)
          })
        },
      },
      pool,
    )
    return this
  }

  /** A message that the program of the thread sends itself. */
  say(message: unknown): void {
    this.#main.emit('message', message)
  }

  /** Ends the thread as an exception or `process.exit` does. */
  end(code: number, error?: Error): void {
    this.#ended = true
    if (error !== undefined) this.#main.emit('error', error)
    this.#main.emit('exit', code)
  }

  async terminate(): Promise<void> {
    this.terminations++
    if (this.#ended) return
    this.#ended = true
    setTimeout(() => this.#main.emit('exit', 1))
  }

  ref(): void {
    this.refs = 1
  }

  unref(): void {
    this.refs = 0
  }
}
