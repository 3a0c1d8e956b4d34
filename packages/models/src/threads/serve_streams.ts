import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { checkArguments, codedTypeError, entryOf, integerFrom } from '@cudnn-rnn/canonical/rules'
import type { RnnStreamState } from '@cudnn-rnn/ops'
import { checkIsHostTensor } from '@cudnn-rnn/ops/executor'
import type { PooledStream, StreamPool } from '../streams/stream_pool.js'
import { isPackedMessage, type MessagePart, MessageReader, MessageWriter } from './message_codec.js'
import { STREAM_ANSWER, STREAM_CALL, sentError, type WorkerReady } from './stream_calls.js'

/** The part of `parentPort` of node:worker_threads that {@link serveStreams} uses. */
export interface ServingPort {
  on(event: 'message', listener: (message: unknown) => void): unknown
  postMessage(message: unknown, transfer: ArrayBuffer[]): void
}

/** A pool that worker threads can serve: a model's, or your own. */
export type ServedPool<State = RnnStreamState> = Pick<StreamPool<State>, 'open' | 'stats'>

/**
 * Serves the streams of a pool to the thread that opened a worker pool. Call it once, when the pool is ready; the main thread
 * assigns no stream before.
 *
 * @param port `parentPort` of node:worker_threads
 * @throws TypeError `ERR_NOT_A_WORKER` in a thread without a parent, `ERR_INVALID_ARGUMENT` for anything but a pool; RangeError
 *   `ERR_INVALID_OPTION` for a pool whose number of streams is none
 * @example
 * ```ts no-run
 * import { parentPort } from 'node:worker_threads'
 * import { CudnnLSTM, openBackend, serveStreams } from '@cudnn-rnn/rnn'
 *
 * // The program of a worker thread of openWorkerPool.
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 8, inputSize: 4 })
 * serveStreams(parentPort, lstm.streamPool(lstm.createParams({ seed: 1 }), { maxStreams: 64 }))
 * ```
 */
export function serveStreams<State>(port: ServingPort | null, pool: ServedPool<State>): void {
  if (typeof port?.postMessage !== 'function' || typeof port.on !== 'function') {
    throw codedTypeError(
      'ERR_NOT_A_WORKER',
      `Cannot serve streams as port must be the parentPort of a worker thread: current value is ${describeValue(port)}`,
    )
  }
  if (typeof pool?.open !== 'function' || typeof pool.stats !== 'function') {
    throw codedTypeError(
      'ERR_INVALID_ARGUMENT',
      `Cannot serve streams as pool must be a pool of streams: current value is ${describeValue(pool)}`,
      { argument: 'pool' },
    )
  }
  const { maxStreams } = pool.stats()
  checkArguments('serve streams', { maxStreams }, { maxStreams: integerFrom(1) })
  const server = new StreamServer(port, pool)
  port.on('message', (message) => server.receive(message))
  const ready: WorkerReady = { ready: true, maxStreams }
  port.postMessage(ready, [])
}

/** What `open` returned or threw. */
type ServedStream<State> = PooledStream<State> | { readonly refusal: unknown }

class StreamServer<State> {
  readonly #port: ServingPort
  readonly #pool: ServedPool<State>
  readonly #streams = new Map<number, ServedStream<State>>()
  readonly #answers = new MessageWriter()

  constructor(port: ServingPort, pool: ServedPool<State>) {
    this.#port = port
    this.#pool = pool
  }

  receive(message: unknown): void {
    // The parent may send other messages.
    if (!isPackedMessage(message)) return
    const reader = new MessageReader(message)
    while (!reader.isAtEnd) this.#perform(reader.read(), reader.read(), reader)
  }

  #perform(kind: number, id: number, reader: MessageReader): void {
    if (kind === STREAM_CALL.open) {
      this.#streams.set(id, this.#opened())
      return
    }
    if (kind === STREAM_CALL.stats) {
      this.#answer(id, reader.read(), STREAM_ANSWER.value, () => this.#pool.stats())
      return
    }
    const stream = entryOf(this.#streams, id)
    const open = () => {
      if ('refusal' in stream) throw stream.refusal
      return stream
    }
    if (kind === STREAM_CALL.step) {
      const call = reader.read()
      const frame = reader.readTensor()
      this.#answer(id, call, STREAM_ANSWER.tensor, () => open().step(frame))
    } else if (kind === STREAM_CALL.state) {
      this.#answer(id, reader.read(), STREAM_ANSWER.value, () => open().state())
    } else if (kind === STREAM_CALL.restore) {
      const call = reader.read()
      const state = reader.readValue() as State
      this.#answer(id, call, STREAM_ANSWER.done, () => open().restore(state))
    } else if (kind === STREAM_CALL.reset) {
      this.#reset(id, stream)
    } else {
      if ('close' in stream) stream.close()
      this.#streams.delete(id)
    }
  }

  /** A refusal is the answer to each call of the stream: an exception here would end the thread. */
  #opened(): ServedStream<State> {
    try {
      return this.#pool.open()
    } catch (refusal) {
      return { refusal }
    }
  }

  /** A reset has no answer: where it fails, its reason is the answer to each call that follows. */
  #reset(id: number, stream: ServedStream<State>): void {
    if ('refusal' in stream) return
    try {
      stream.reset()
    } catch (refusal) {
      stream.close()
      this.#streams.set(id, { refusal })
    }
  }

  /** Computes an answer. The answers of one round settle in one turn and leave as one message. */
  #answer(stream: number, call: number, kind: number, compute: () => unknown): void {
    new Promise((resolve) => resolve(compute()))
      .then((result) => this.#write([stream, call, kind], partOf(kind, result)))
      // Also for a result that cannot be sent.
      .catch((reason: unknown) => this.#write([stream, call, STREAM_ANSWER.error], { value: sentError(reason) }))
  }

  #write(numbers: readonly number[], part: MessagePart | undefined): void {
    const isFirst = this.#answers.isEmpty
    this.#answers.write('answer a call of a stream', numbers, part)
    if (isFirst) queueMicrotask(() => this.#send())
  }

  #send(): void {
    const { message, transfer } = this.#answers.take()
    this.#port.postMessage(message, transfer)
  }
}

function partOf(kind: number, result: unknown): MessagePart | undefined {
  if (kind === STREAM_ANSWER.tensor) {
    return { tensor: checkIsHostTensor('answer a call of a stream', 'output', result as Tensor) }
  }
  return kind === STREAM_ANSWER.value ? { value: result } : undefined
}
