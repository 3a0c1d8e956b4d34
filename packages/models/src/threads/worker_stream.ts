import { Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { RnnStreamState } from '@cudnn-rnn/ops'
import { checkIsHostTensor } from '@cudnn-rnn/ops/executor'
import { streamClosed } from '../streams/pool_errors.js'

/** Operations of a worker on one of its streams. */
export interface WorkerOperations {
  /** Counts of the whole pool. */
  readonly counts: { refused: number }
  /** Why no more calls are taken, as an error to throw; undefined while they are. */
  readonly ended: (() => Error) | undefined
  waitingOf(stream: number): number
  step(stream: number, frame: Tensor): Promise<Tensor>
  readState<State>(stream: number): Promise<State>
  restore(stream: number, state: unknown): Promise<void>
  reset(stream: number): void
  close(stream: number): void
}

/**
 * One stream of a {@link WorkerPool}. Its calls take effect in their order. After the end of its worker they reject with
 * `ERR_STREAM_WORKER_LOST`.
 *
 * @example
 * ```ts no-run
 * import { Worker } from 'node:worker_threads'
 * import { openWorkerPool } from '@cudnn-rnn/rnn'
 *
 * // worker.js calls serveStreams.
 * const start = () => new Worker(new URL('./worker.js', import.meta.url))
 * const pool = await openWorkerPool({ workers: 1, start })
 * const stream = pool.open()
 * const before = await stream.state()
 * const frame = { data: new Float32Array(4), shape: [4] } // [I]
 * const first = await stream.step(frame)
 * await stream.restore(before)
 * const again = await stream.step(frame) // equal to the first
 * console.log(first.shape, again.shape)
 * stream.close()
 * await pool.dispose()
 * ```
 */
export class WorkerStream<State = RnnStreamState> extends Inspectable {
  readonly #worker: WorkerOperations
  readonly #id: number
  readonly #maxQueued: number
  #ended: (() => Error) | undefined

  constructor(worker: WorkerOperations, id: number, maxQueued: number) {
    super()
    this.#worker = worker
    this.#id = id
    this.#maxQueued = maxQueued
  }

  /** Calls of `step` that wait. */
  get waiting(): number {
    return this.#worker.waitingOf(this.#id)
  }

  get closed(): boolean {
    return this.#end() !== undefined
  }

  /**
   * `PooledStream.step`, in the worker. `frame` is a host tensor and may be reused immediately; the result's array is
   * its own.
   *
   * Rejects with the error of the pool in the worker, or with TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError
   * `ERR_STREAM_QUEUE_FULL`, `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`; Error `ERR_STREAM_WORKER_LOST`.
   */
  async step(frame: Tensor): Promise<Tensor> {
    this.#checkOpen()
    const given = checkIsHostTensor('step a stream', 'frame', frame)
    if (this.waiting >= this.#maxQueued) {
      this.#worker.counts.refused++
      throw codedRangeError(
        'ERR_STREAM_QUEUE_FULL',
        `Cannot step a stream as at most ${this.#maxQueued} steps of it may wait: current number is ${this.waiting}. Await earlier steps, or drop input.`,
        { maxQueued: this.#maxQueued, waiting: this.waiting },
      )
    }
    return this.#worker.step(this.#id, given)
  }

  /** A copy of the state, after the steps called before. */
  async state(): Promise<State> {
    this.#checkOpen()
    return this.#worker.readState<State>(this.#id)
  }

  /**
   * Takes over a state; steps called afterwards begin from it. Rejects with the error of the pool in the worker, as {@link step},
   * or with TypeError `ERR_NOT_A_STATE` for a value that cannot be cloned; the stream keeps the state that it had.
   */
  async restore(state: State): Promise<void> {
    this.#checkOpen()
    await this.#worker.restore(this.#id, state)
  }

  /** Zeroes the state. Throws RangeError `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`; Error `ERR_STREAM_WORKER_LOST`. */
  reset(): void {
    this.#checkOpen()
    this.#worker.reset(this.#id)
  }

  /** Rejects calls that wait with `ERR_STREAM_CLOSED` and gives the place in the worker to the next stream. */
  close(): void {
    if (this.closed) return
    this.#ended = streamClosed
    this.#worker.close(this.#id)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  protected override summary(): Summary {
    return { kind: 'WorkerStream', waiting: this.waiting, state: this.closed ? 'closed' : 'open' }
  }

  #end(): (() => Error) | undefined {
    return this.#ended ?? this.#worker.ended
  }

  #checkOpen(): void {
    const end = this.#end()
    if (end !== undefined) throw end()
  }
}
