import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkIsObject,
  checkOptions,
  codedRangeError,
  FUNCTION,
  guarded,
  integerIn,
  methods,
  optional,
  type OptionsOf,
  reportFailure,
  typed,
} from '@cudnn-rnn/canonical/rules'
import type { RnnStreamState } from '@cudnn-rnn/ops'
import { poolDisposed } from '../streams/pool_errors.js'
import type { StreamPoolStats } from '../streams/stream_pool.js'
import { StreamWorker, type WorkerState, type WorkerStream, type WorkerThread } from './stream_worker.js'

const OPTIONS = {
  /** Worker threads, 1..1,024: usually one for each physical core, with `threads: 1` in their executors. */
  workers: integerIn(1, 1024),
  /**
   * Starts a worker thread whose program calls `serveStreams`; called again in place of a thread that ended. Bundlers find
   * the program where it is written as `new Worker(new URL('./worker.js', import.meta.url))`.
   */
  start: typed<() => WorkerThread>(FUNCTION),
  /** Calls of `step` that may wait in one stream, those being computed included. Default 1024. */
  maxQueued: optional(integerIn(1, Number.MAX_SAFE_INTEGER)),
  /**
   * Called when a worker ended unexpectedly, after its streams were rejected. Its own failure is printed on `console.error`,
   * and changes nothing.
   */
  onWorkerLost: optional<(loss: WorkerLoss) => void>(FUNCTION),
}

const THREAD = methods('a Worker of node:worker_threads', 'on', 'postMessage', 'terminate', 'ref', 'unref')

/** Options of {@link openWorkerPool}. */
export interface WorkerPoolOptions extends OptionsOf<typeof OPTIONS> {}

/** A worker that ended unexpectedly. */
export interface WorkerLoss {
  /** Streams that were open in it. */
  readonly streams: number
  readonly reason: unknown
}

type WorkerPoolStats = {
  /** Streams open. */
  readonly streams: number
  /** Streams that may be open in the workers that are ready. */
  readonly maxStreams: number
  /** Calls of `step` that wait. */
  readonly waiting: number
  /** Calls of `step` answered. */
  readonly steps: number
  /** Calls refused with `ERR_STREAM_QUEUE_FULL`. */
  readonly refused: number
  /** Workers that ended unexpectedly. */
  readonly lostWorkers: number
  /** Streams that were open in them. */
  readonly lostStreams: number
  readonly workers: readonly WorkerStats[]
}

type WorkerStats = {
  readonly state: WorkerState
  readonly streams: number
  readonly waiting: number
}

/** A thread that ended while it started is started again after this, and then after twice as long, to a limit. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000

/**
 * Streams spread over the pools of worker threads, so that a server uses all cores. A stream belongs to one worker for
 * life: that with the fewest streams when it is opened. A worker that ends takes its own streams along, whose calls
 * reject with `ERR_STREAM_WORKER_LOST`, and another one is started in its place.
 *
 * @example
 * ```ts no-run
 * import { Worker } from 'node:worker_threads'
 * import { openWorkerPool } from '@cudnn-rnn/rnn'
 *
 * // worker.js calls serveStreams.
 * const start = () => new Worker(new URL('./worker.js', import.meta.url))
 * const pool = await openWorkerPool({ workers: 2, start, onWorkerLost: ({ streams }) => console.error(streams) })
 * const streams = [pool.open(), pool.open(), pool.open()] // two in one worker, one in the other
 * await Promise.all(streams.map((stream) => stream.step({ data: new Float32Array(4), shape: [4] })))
 * await pool.drain()
 * console.log(pool.stats().steps) // 3
 * await pool.dispose()
 * ```
 */
export class WorkerPool<State = RnnStreamState> extends Inspectable {
  readonly #start: () => WorkerThread
  readonly #maxQueued: number
  readonly #onWorkerLost: (loss: WorkerLoss) => void
  readonly #workers: StreamWorker[] = []
  readonly #pauses = new Set<ReturnType<typeof setTimeout>>()
  readonly #counts = { steps: 0, refused: 0 }
  #lostWorkers = 0
  #lostStreams = 0
  #disposed = false
  #drained: (() => void)[] = []

  private constructor({ start, maxQueued, onWorkerLost }: CheckedOptions) {
    super()
    this.#start = start
    this.#maxQueued = maxQueued
    this.#onWorkerLost = onWorkerLost
  }

  /** See {@link openWorkerPool}. */
  static async open<State>(options: CheckedOptions): Promise<WorkerPool<State>> {
    const pool = new WorkerPool<State>(options)
    try {
      await Promise.all(Array.from({ length: options.workers }, () => pool.#startWorker(0).ready))
      return pool
    } catch (error) {
      pool.dispose()
      throw error
    }
  }

  /**
   * Opens a stream, from zeros, in the worker that has the fewest.
   *
   * @throws RangeError `ERR_POOL_FULL`, `ERR_STREAM_DISPOSED`; `ERR_NO_WORKER` while no worker is ready
   */
  open(): WorkerStream<State> {
    if (this.#disposed) throw poolDisposed()
    const ready = this.#workers.filter(({ state }) => state === 'ready')
    if (ready.length === 0) {
      throw codedRangeError(
        'ERR_NO_WORKER',
        'Cannot open a stream as no worker of the pool is ready: they ended, and others start. Try again in a moment; onWorkerLost reports why.',
      )
    }
    const free = ready.filter(({ streams, maxStreams }) => streams < maxStreams)
    if (free.length === 0) {
      throw codedRangeError(
        'ERR_POOL_FULL',
        `Cannot open a stream as every worker of the pool has as many as it may have: current number is ${this.stats().streams}. Close one, or raise maxStreams.`,
        { maxStreams: this.stats().maxStreams },
      )
    }
    const least = free.reduce((best, worker) =>
      worker.streams < best.streams || (worker.streams === best.streams && worker.waiting < best.waiting)
        ? worker
        : best,
    )
    return least.open<State>(this.#maxQueued)
  }

  stats(): WorkerPoolStats {
    const sum = (read: (worker: StreamWorker) => number) => this.#workers.reduce((total, each) => total + read(each), 0)
    return {
      streams: sum(({ streams }) => streams),
      maxStreams: sum(({ state, maxStreams }) => (state === 'ready' ? maxStreams : 0)),
      waiting: sum(({ waiting }) => waiting),
      ...this.#counts,
      lostWorkers: this.#lostWorkers,
      lostStreams: this.#lostStreams,
      workers: this.#workers.map(({ state, streams, waiting }) => ({ state, streams, waiting })),
    }
  }

  /** Statistics of the pools in the workers that are ready. */
  async poolStats(): Promise<StreamPoolStats[]> {
    const ready = this.#workers.filter(({ state }) => state === 'ready')
    return Promise.all(ready.map((worker) => worker.poolStats()))
  }

  /** Resolves when no step waits any more. */
  async drain(): Promise<void> {
    if (this.stats().waiting === 0) return
    await new Promise<void>((resolve) => this.#drained.push(resolve))
  }

  /** Rejects calls that wait with `ERR_STREAM_DISPOSED` and ends the workers. */
  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    for (const pause of this.#pauses) clearTimeout(pause)
    for (const worker of this.#workers) worker.end(poolDisposed)
    this.#checkDrained()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    const { streams, waiting, workers } = this.stats()
    const state = this.#disposed ? 'disposed' : 'live'
    return { kind: 'WorkerPool', workers: workers.length, streams, waiting, state }
  }

  /** @param failures threads that ended in its place before they were ready. */
  #startWorker(failures: number): StreamWorker {
    const thread = this.#start()
    checkArguments('start a worker', { thread }, { thread: THREAD })
    const worker: StreamWorker = new StreamWorker(thread, {
      counts: this.#counts,
      onIdle: () => this.#checkDrained(),
      onLost: (streams, reason) => this.#lost(worker, { streams, reason }, failures),
    })
    this.#workers.push(worker)
    return worker
  }

  #lost(worker: StreamWorker, loss: WorkerLoss, failures: number): void {
    this.#workers.splice(this.#workers.indexOf(worker), 1)
    if (this.#disposed) return
    this.#lostWorkers++
    this.#lostStreams += loss.streams
    this.#checkDrained()
    const wasReady = worker.maxStreams > 0
    if (wasReady) this.#replace(0)
    else this.#pauseBeforeReplacing(failures + 1)
    this.#onWorkerLost(loss)
  }

  #replace(failures: number): void {
    try {
      this.#startWorker(failures)
    } catch (reason) {
      this.#pauseBeforeReplacing(failures + 1)
      this.#onWorkerLost({ streams: 0, reason })
    }
  }

  #pauseBeforeReplacing(failures: number): void {
    const pause = setTimeout(
      () => {
        this.#pauses.delete(pause)
        this.#replace(failures)
      },
      Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)),
    )
    this.#pauses.add(pause)
    // A program that waits for nothing else may end.
    ;(pause as { unref?: () => void }).unref?.()
  }

  #checkDrained(): void {
    if (this.#drained.length === 0 || this.stats().waiting > 0) return
    for (const resolve of this.#drained.splice(0)) resolve()
  }
}

type CheckedOptions = { readonly [Name in keyof WorkerPoolOptions]-?: NonNullable<WorkerPoolOptions[Name]> }

/**
 * Starts worker threads whose programs serve streams, and resolves when all are ready. docs/streams.md has a program.
 *
 * Rejects with the error of a worker that ends before it is ready (`ERR_WORKER_ENDED` where it had none).
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_INVALID_ARGUMENT` where `start` returns no thread;
 *   RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts no-run
 * import { Worker } from 'node:worker_threads'
 * import { openWorkerPool } from '@cudnn-rnn/rnn'
 *
 * // worker.js calls serveStreams.
 * const start = () => new Worker(new URL('./worker.js', import.meta.url))
 * const pool = await openWorkerPool({ workers: 2, start })
 * const stream = pool.open()
 * const { shape } = await stream.step({ data: new Float32Array(2 * 4), shape: [2, 4] }) // [T,I]
 * console.log(shape) // [2, 8]
 * await pool.dispose()
 * ```
 */
export async function openWorkerPool<State = RnnStreamState>(options: WorkerPoolOptions): Promise<WorkerPool<State>> {
  const action = 'open a pool of workers'
  checkIsObject(action, 'options', options)
  const { workers, start, maxQueued = 1024, onWorkerLost = () => undefined } = checkOptions(action, options, OPTIONS)
  return WorkerPool.open<State>({ workers, start, maxQueued, onWorkerLost: guarded(onWorkerLost, reportFailure) })
}
