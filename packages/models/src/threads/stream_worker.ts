import { type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, entryOf, guarded, reportFailure } from '@cudnn-rnn/canonical/rules'
import type { RnnStreamState } from '@cudnn-rnn/ops'
import { checkIsHostTensor, frameTensor } from '@cudnn-rnn/ops/executor'
import { streamClosed, workerEnded, workerLost } from '../streams/pool_errors.js'
import { EndOfTurn } from '../streams/end_of_turn.js'
import type { StreamPoolStats } from '../streams/stream_pool.js'
import { isPackedMessage, type MessagePart, MessageReader, MessageWriter } from './message_codec.js'
import { PendingCalls } from './pending_calls.js'
import { isWorkerReady, receivedError, type SentError, STREAM_ANSWER, STREAM_CALL } from './stream_calls.js'

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
  readonly #worker: StreamWorker
  readonly #id: number
  readonly #maxQueued: number
  #ended: (() => Error) | undefined

  constructor(worker: StreamWorker, id: number, maxQueued: number) {
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
   * `PooledStream.step`, in the worker. `frame` is a host tensor, or the numbers of one step, and may be reused immediately; the result's array is
   * its own.
   *
   * Rejects with the error of the pool in the worker, or with TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError
   * `ERR_STREAM_QUEUE_FULL`, `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`; Error `ERR_STREAM_WORKER_LOST`.
   */
  async step(frame: Tensor | FloatArray): Promise<Tensor> {
    this.#checkOpen()
    const given = checkIsHostTensor('step a stream', 'frame', frameTensor(frame))
    if (this.waiting >= this.#maxQueued) {
      this.#worker.counts.refused++
      throw codedRangeError(
        'ERR_STREAM_QUEUE_FULL',
        `Cannot step a stream as at most ${this.#maxQueued} steps of it may wait: current number is ${this.waiting}. Await earlier steps, or drop input.`,
        { maxQueued: this.#maxQueued, waiting: this.waiting },
      )
    }
    return this.#worker.call('step a stream', STREAM_CALL.step, this.#id, { tensor: given })
  }

  /** A copy of the state, after the steps called before. */
  async state(): Promise<State> {
    this.#checkOpen()
    return this.#worker.call('read the state of a stream', STREAM_CALL.state, this.#id)
  }

  /**
   * Takes over a state; steps called afterwards begin from it. Rejects with the error of the pool in the worker, as {@link step},
   * or with TypeError `ERR_NOT_A_STATE` for a value that cannot be cloned; the stream keeps the state that it had.
   */
  async restore(state: State): Promise<void> {
    this.#checkOpen()
    await this.#worker.call('restore a stream', STREAM_CALL.restore, this.#id, { value: state })
  }

  /** Zeroes the state. Throws RangeError `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`; Error `ERR_STREAM_WORKER_LOST`. */
  reset(): void {
    this.#checkOpen()
    this.#worker.send('reset a stream', [STREAM_CALL.reset, this.#id])
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

/** The part of `Worker` of node:worker_threads that a pool uses. */
export interface WorkerThread {
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
  postMessage(message: unknown, transfer: ArrayBuffer[]): void
  terminate(): Promise<unknown>
  ref(): void
  unref(): void
}

export type WorkerState = 'starting' | 'ready' | 'ended'

/** Events that the pool of a worker counts. */
export interface WorkerEvents {
  readonly counts: { steps: number; refused: number }
  /** No step waits in this worker any more. */
  readonly onIdle: () => void
  /** The thread ended, and not by {@link StreamWorker.end}. */
  readonly onLost: (streams: number, reason: unknown) => void
}

/** The place of the worker's own calls among its streams' calls. */
const WORKER = 0

/** One worker thread and the streams in it. Calls of one turn of the event loop leave as one message. */
export class StreamWorker {
  /** Rejects where the thread ends first. */
  readonly ready: Promise<void>
  /** The counts of the whole pool. */
  readonly counts: WorkerEvents['counts']
  readonly #thread: WorkerThread
  readonly #terminate: () => void
  readonly #events: WorkerEvents
  readonly #messages = new MessageWriter()
  readonly #turn: EndOfTurn
  readonly #calls = new Map<number, PendingCalls>([[WORKER, new PendingCalls()]])
  #state: WorkerState = 'starting'
  #ended: (() => Error) | undefined
  #maxStreams = 0
  #lastStream = WORKER
  #lastCall = 0
  #pending = 0
  #waiting = 0
  #error: unknown
  #settleReady!: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }

  constructor(thread: WorkerThread, events: WorkerEvents) {
    this.#thread = thread
    this.#terminate = guarded(() => thread.terminate(), reportFailure)
    this.#events = events
    this.counts = events.counts
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject }
    })
    // The end of a thread is reported to onLost: not every caller awaits this.
    this.ready.catch(() => undefined)
    // A message that cannot be sent or read ends this worker, and no other.
    const fail = (error: unknown) => {
      this.#terminate()
      this.#lose(error)
    }
    this.#turn = new EndOfTurn(guarded(() => this.#post(), fail))
    thread.on(
      'message',
      guarded((message: unknown) => this.#receive(message), fail),
    )
    thread.on('error', (error) => {
      this.#error = error
    })
    thread.on('exit', (code) => this.#lose(this.#error ?? workerEnded(code)))
  }

  get state(): WorkerState {
    return this.#state
  }

  /** Why no more calls are taken, as an error to throw; undefined while they are. */
  get ended(): (() => Error) | undefined {
    return this.#ended
  }

  /** 0 until the worker is ready. */
  get maxStreams(): number {
    return this.#maxStreams
  }

  get streams(): number {
    return Math.max(0, this.#calls.size - 1)
  }

  /** Calls of `step` that wait. */
  get waiting(): number {
    return this.#waiting
  }

  waitingOf(stream: number): number {
    return this.#calls.get(stream)?.steps ?? 0
  }

  open<State>(maxQueued: number): WorkerStream<State> {
    const id = ++this.#lastStream
    this.#calls.set(id, new PendingCalls())
    this.send('open a stream', [STREAM_CALL.open, id])
    return new WorkerStream<State>(this, id, maxQueued)
  }

  /**
   * A call that the worker answers. The promise is registered when the call can no longer fail here: otherwise its rejection would
   * be unhandled.
   */
  call<Result>(action: string, kind: number, stream: number, part?: MessagePart): Promise<Result> {
    const calls = entryOf(this.#calls, stream)
    // 32 bits, as the message has: a call of the same number was answered long ago.
    const call = (this.#lastCall + 1) | 0
    this.send(action, [kind, stream, call], part)
    this.#lastCall = call
    const isStep = kind === STREAM_CALL.step
    if (isStep) this.#waiting++
    if (this.#pending++ === 0) this.#thread.ref()
    return calls.add(call, isStep)
  }

  /** A call without an answer, or a part of one with an answer: it leaves at the end of the turn. */
  send(action: string, numbers: readonly number[], part?: MessagePart): void {
    this.#messages.write(action, numbers, part)
    this.#turn.now()
  }

  close(stream: number): void {
    const calls = entryOf(this.#calls, stream)
    this.#calls.delete(stream)
    this.#settled(calls.size, calls.steps)
    calls.rejectAll(streamClosed)
    this.send('close a stream', [STREAM_CALL.close, stream])
  }

  poolStats(): Promise<StreamPoolStats> {
    return this.call('read statistics', STREAM_CALL.stats, WORKER)
  }

  /** Ends the thread; calls that wait are rejected with `reason`. */
  end(reason: () => Error): void {
    if (this.#state === 'ended') return
    this.#leave(reason, reason())
    this.#terminate()
  }

  #lose(reason: unknown): void {
    if (this.#state === 'ended') return
    const { streams } = this
    this.#leave(() => workerLost(reason), reason)
    this.#events.onLost(streams, reason)
  }

  #leave(ended: () => Error, reason: unknown): void {
    this.#state = 'ended'
    this.#ended = ended
    this.#turn.cancel()
    this.#waiting = 0
    this.#settleReady.reject(reason)
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const each of calls) each.rejectAll(ended)
  }

  #post(): void {
    const { message, transfer } = this.#messages.take()
    this.#thread.postMessage(message, transfer)
  }

  #receive(message: unknown): void {
    if (this.#state === 'ended') return
    if (isWorkerReady(message)) {
      this.#state = 'ready'
      this.#maxStreams = message.maxStreams
      if (this.#pending === 0) this.#thread.unref()
      this.#settleReady.resolve()
      return
    }
    // The program of the worker may send other messages.
    if (!isPackedMessage(message)) return
    const reader = new MessageReader(message)
    let calls = 0
    let steps = 0
    while (!reader.isAtEnd) {
      const stream = this.#calls.get(reader.read())
      const call = reader.read()
      const answer = reader.read()
      const value = readAnswer(reader, answer)
      // A stream that was closed meanwhile has rejected its calls.
      if (stream === undefined) continue
      calls++
      if (stream.settle(call, value, answer === STREAM_ANSWER.error)) steps++
    }
    this.counts.steps += steps
    this.#settled(calls, steps)
  }

  #settled(calls: number, steps: number): void {
    this.#pending -= calls
    this.#waiting -= steps
    if (this.#pending === 0) this.#thread.unref()
    if (this.#waiting === 0) this.#events.onIdle()
  }
}

function readAnswer(reader: MessageReader, answer: number): unknown {
  if (answer === STREAM_ANSWER.tensor) {
    // A separate array: the message holds the results of other streams too.
    const { data, shape } = reader.readTensor()
    return { data: data.slice(), shape }
  }
  if (answer === STREAM_ANSWER.value) return reader.readValue()
  if (answer === STREAM_ANSWER.error) return receivedError(reader.readValue() as SentError)
  return undefined
}
