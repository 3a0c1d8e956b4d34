import type { RnnStreamState } from '@cudnn-rnn/ops'
import type { Frame } from '@cudnn-rnn/ops/executor'
import type { Tensor } from '@cudnn-rnn/canonical'
import type { SampleSummary } from './recent_samples.js'

/**
 * Streams of one model that share batched steps: each round advances every stream that has input by one time step. Rounds
 * run at the end of a turn of the event loop; a stream with many time steps takes part in as many rounds and delays no other.
 * `Handle` is the caller's own form of a stream.
 */
export interface StreamPool<State = RnnStreamState, Handle = PooledStream<State>> {
  /**
   * Opens a stream, from zeros or from a state that `state()` of a stream of batch 1 or of a pool returned.
   *
   * @throws RangeError `ERR_POOL_FULL`, `ERR_SHAPE`, `ERR_STREAM_DISPOSED`; TypeError `ERR_NOT_A_STATE`
   */
  open(state?: State): Handle
  stats(): StreamPoolStats
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>
  /** Rejects queued calls with `ERR_STREAM_DISPOSED` and releases the states. */
  dispose(): void
  [Symbol.dispose](): void
}

/** One stream of a pool. Its calls take effect in their order: a `reset()` comes after the steps called before it. */
export interface PooledStream<State = RnnStreamState> {
  /**
   * One time step [I] → [P or H], or T of them [T,I] → [T,P or H]; a new host tensor. `frame` may be reused immediately; the numbers of
   * one step may come without their shape. The
   * arrays of small results share buffers, which cannot be transferred to another thread: transfer a `slice()`.
   *
   * Rejects with the executor's error, or with a RangeError `ERR_STREAM_QUEUE_FULL` (nothing is queued),
   * `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`. A step that fails leaves the state after its last computed time step.
   */
  step(frame: Frame): Promise<Tensor>
  /** Copies of the state, [L,1,P or H] and [L,1,H]: after the steps called before. */
  state(): Promise<State>
  /** Throws TypeError `ERR_NOT_A_STATE`; RangeError `ERR_SHAPE`, `ERR_STREAM_CLOSED`. */
  restore(state: State): void
  /** Zeroes the state. Throws RangeError `ERR_STREAM_CLOSED`. */
  reset(): void
  /** Time steps that wait, those being computed included. */
  readonly waiting: number
  readonly closed: boolean
  /** Rejects queued calls with `ERR_STREAM_CLOSED` and gives the place in the pool to the next stream. */
  close(): void
  [Symbol.dispose](): void
}

export type StreamPoolStats = {
  /** Streams open. */
  readonly streams: number
  readonly maxStreams: number
  /** Time steps that wait now, those being computed included. */
  readonly waiting: number
  /** Batched steps computed. */
  readonly rounds: number
  /** Time steps computed. */
  readonly steps: number
  /** Calls refused with `ERR_STREAM_QUEUE_FULL`. */
  readonly refused: number
  /** Steps rejected with an error of the executor. */
  readonly failed: number
  /** Streams in each of the last 1,024 rounds. */
  readonly batchSize: SampleSummary
  /** Milliseconds from the call of a step to each of the last 4,096 results. */
  readonly latencyMs: SampleSummary
}
