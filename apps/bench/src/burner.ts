import { Worker } from 'node:worker_threads'

/** Threads of this process that use up every core on demand: the "other process" that contestants have to live with. */
export class Burner {
  readonly #burning = new Int32Array(new SharedArrayBuffer(4))
  readonly #workers: readonly Worker[]

  constructor(threads: number) {
    this.#workers = Array.from(
      { length: threads },
      () => new Worker(new URL('./burner_worker.js', import.meta.url), { workerData: this.#burning }),
    )
  }

  set burning(on: boolean) {
    Atomics.store(this.#burning, 0, on ? 1 : 0)
    Atomics.notify(this.#burning, 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}
