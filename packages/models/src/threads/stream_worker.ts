import { entryOf, guarded, reportFailure } from '@cudnn-rnn/canonical/rules'
import type { Tensor } from '@cudnn-rnn/canonical'
import { EndOfTurn } from '../streams/end_of_turn.js'
import { streamClosed, workerEnded, workerLost } from '../streams/pool_errors.js'
import type { StreamPoolStats } from '../streams/stream_pool.js'
import { isPackedMessage, type MessagePart, MessageReader, MessageWriter } from './message_codec.js'
import { PendingCalls } from './pending_calls.js'
import { isWorkerReady, receivedError, type SentError, STREAM_ANSWER, STREAM_CALL } from './stream_calls.js'
import { type WorkerOperations, WorkerStream } from './worker_stream.js'

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
export class StreamWorker implements WorkerOperations {
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
    this.#turn = new EndOfTurn(guarded(() => this.#send(), fail))
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
    this.#write('open a stream', [STREAM_CALL.open, id])
    return new WorkerStream<State>(this, id, maxQueued)
  }

  step(stream: number, frame: Tensor): Promise<Tensor> {
    return this.#call('step a stream', STREAM_CALL.step, stream, { tensor: frame })
  }

  readState<State>(stream: number): Promise<State> {
    return this.#call('read the state of a stream', STREAM_CALL.state, stream)
  }

  restore(stream: number, state: unknown): Promise<void> {
    return this.#call('restore a stream', STREAM_CALL.restore, stream, { value: state })
  }

  reset(stream: number): void {
    this.#write('reset a stream', [STREAM_CALL.reset, stream])
  }

  close(stream: number): void {
    const calls = entryOf(this.#calls, stream)
    this.#calls.delete(stream)
    this.#settled(calls.size, calls.steps)
    calls.rejectAll(streamClosed)
    this.#write('close a stream', [STREAM_CALL.close, stream])
  }

  poolStats(): Promise<StreamPoolStats> {
    return this.#call('read statistics', STREAM_CALL.stats, WORKER)
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

  /** The promise is registered when the call can no longer fail here: otherwise its rejection would be unhandled. */
  #call<Result>(action: string, kind: number, stream: number, part?: MessagePart): Promise<Result> {
    const calls = entryOf(this.#calls, stream)
    // 32 bits, as the message has: a call of the same number was answered long ago.
    const call = (this.#lastCall + 1) | 0
    this.#write(action, [kind, stream, call], part)
    this.#lastCall = call
    const isStep = kind === STREAM_CALL.step
    if (isStep) this.#waiting++
    if (this.#pending++ === 0) this.#thread.ref()
    return calls.add(call, isStep)
  }

  #write(action: string, numbers: readonly number[], part?: MessagePart): void {
    this.#messages.write(action, numbers, part)
    this.#turn.now()
  }

  #send(): void {
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
