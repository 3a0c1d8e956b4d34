import { Worker } from 'node:worker_threads'

/** Threads of this process that use up every core on demand: the "other process" that implementations have to live with. */
export class LoadGenerator {
  readonly #isRunning = new Int32Array(new SharedArrayBuffer(4))
  readonly #workers: readonly Worker[]

  constructor(threads: number) {
    this.#workers = Array.from(
      { length: threads },
      () => new Worker(new URL('./load_generator_worker.js', import.meta.url), { workerData: this.#isRunning }),
    )
  }

  set running(on: boolean) {
    Atomics.store(this.#isRunning, 0, on ? 1 : 0)
    Atomics.notify(this.#isRunning, 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}
