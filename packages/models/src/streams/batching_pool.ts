import { type AnyBackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { describeValue, type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, codedTypeError, liveLength, required } from '@cudnn-rnn/canonical/rules'
import { checkIsTensor, checkTensor, type Frame, frameTensor } from '@cudnn-rnn/ops/executor'
import type { PooledStream, StreamPool, StreamPoolStats } from './stream_pool.js'
import { isStep, type QueuedStep, StreamQueue } from './stream_queue.js'
import { EndOfTurn } from './end_of_turn.js'
import { poolDisposed, streamClosed } from './pool_errors.js'
import type { CheckedPoolOptions } from './pool_options.js'
import { RecentSamples } from './recent_samples.js'
import type { RowNetwork } from './row_network.js'
import { SharedOutputs } from './shared_outputs.js'

/** A caller's handle of one stream. */
class PoolStream<State> extends Inspectable implements PooledStream<State> {
  readonly #pool: BatchingPool<State, unknown>
  readonly #queue: StreamQueue

  constructor(pool: BatchingPool<State, unknown>, queue: StreamQueue) {
    super()
    this.#pool = pool
    this.#queue = queue
  }

  get waiting(): number {
    return this.#queue.waiting
  }

  get closed(): boolean {
    return this.#queue.ended !== undefined
  }

  step(frame: Frame): Promise<Tensor> {
    return this.#pool.step(this.#queue, frame)
  }

  state(): Promise<State> {
    return this.#pool.state(this.#queue)
  }

  restore(state: State): void {
    this.#pool.restore(this.#queue, state)
  }

  reset(): void {
    this.#pool.reset(this.#queue)
  }

  close(): void {
    this.#pool.close(this.#queue)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  protected override summary(): Summary {
    return { kind: 'PooledStream', waiting: this.waiting, state: this.closed ? 'closed' : 'open' }
  }
}

/**
 * Gathers the next time step of every stream that has one into a *round*, and computes rounds one after another
 * (docs/streams.md). A frame is copied once, to its place in the round or, while earlier frames of its stream wait, to the
 * stream's queue.
 */
export class BatchingPool<State, Handle = PooledStream<State>>
  extends Inspectable
  implements StreamPool<State, Handle>
{
  readonly #network: RowNetwork<State>
  readonly #options: CheckedPoolOptions
  readonly #handleOf: (stream: PooledStream<State>) => Handle
  readonly #inputSize: number
  readonly #columns: number
  readonly #arrayType: string
  readonly #open = new Set<StreamQueue>()
  /** Rows from this one on were never used: their states are zeros. */
  #unusedRow = 0
  /** Rows of closed streams. */
  readonly #freeRows: number[] = []

  /** The round that is gathered: streams in order of arrival, their rows and their frames [·,I]. */
  readonly #gathered: StreamQueue[] = []
  readonly #rows: Int32Array
  readonly #frames: FloatArray
  readonly #outputs: FloatArray
  readonly #results: SharedOutputs
  readonly #turn = new EndOfTurn(() => this.#beginRound())
  /** A round is computed elsewhere; states must not change meanwhile. */
  #running = false
  /** Streams whose next change waits for the round that runs. */
  readonly #suspended = new Set<StreamQueue>()
  #drained: (() => void)[] = []
  #disposed = false

  #waiting = 0
  #rounds = 0
  #steps = 0
  #refused = 0
  #failed = 0
  readonly #batchSizes = new RecentSamples(1024)
  readonly #latencies = new RecentSamples(4096)

  constructor(
    network: RowNetwork<State>,
    options: CheckedPoolOptions,
    handleOf = (stream: PooledStream<State>) => stream as Handle,
  ) {
    super()
    this.#network = network
    this.#options = options
    this.#handleOf = handleOf
    this.#inputSize = network.inputSize
    this.#columns = network.outputSize
    const { array } = DTYPES[network.dtype]
    this.#arrayType = array.name
    this.#rows = new Int32Array(options.maxStreams)
    this.#frames = new array(options.maxStreams * this.#inputSize)
    this.#results = new SharedOutputs(network.dtype, this.#columns)
    this.#outputs = new array(Math.min(options.maxBatch, options.maxStreams) * this.#columns)
  }

  open(state?: State): Handle {
    if (this.#disposed) throw poolDisposed()
    const checked = state === undefined ? undefined : this.#network.checkedState(state)
    const reused = this.#freeRows.pop()
    if (reused === undefined && this.#unusedRow === this.#options.maxStreams) {
      throw codedRangeError(
        'ERR_POOL_FULL',
        `Cannot open a stream as at most ${this.#options.maxStreams} streams of this pool may be open: current number is ${this.#open.size}. Close one, or raise maxStreams.`,
        { maxStreams: this.#options.maxStreams },
      )
    }
    const stream = new StreamQueue(reused ?? this.#unusedRow++)
    this.#open.add(stream)
    if (checked !== undefined) this.#change(stream, () => this.#network.restore(stream.row, checked))
    else if (reused !== undefined) this.#change(stream, () => this.#network.reset(stream.row))
    try {
      return this.#handleOf(new PoolStream(this, stream))
    } catch (error) {
      this.close(stream)
      throw error
    }
  }

  stats(): StreamPoolStats {
    return {
      streams: this.#open.size,
      maxStreams: this.#options.maxStreams,
      waiting: this.#waiting,
      rounds: this.#rounds,
      steps: this.#steps,
      refused: this.#refused,
      failed: this.#failed,
      batchSize: this.#batchSizes.summary(),
      latencyMs: this.#latencies.summary(),
    }
  }

  async drain(): Promise<void> {
    if (this.#waiting === 0) return
    await new Promise<void>((resolve) => this.#drained.push(resolve))
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#turn.cancel()
    for (const stream of this.#open) stream.end(poolDisposed)
    this.#open.clear()
    this.#gathered.length = 0
    this.#suspended.clear()
    this.#waiting = 0
    this.#network.dispose()
    this.#checkDrained()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  step(stream: StreamQueue, given: Frame): Promise<Tensor> {
    return new Promise((resolve, reject) => {
      if (stream.ended !== undefined) throw stream.ended()
      const frame = frameTensor(given, [this.#inputSize], this.#network.dtype)
      const { frames, shape, steps } = this.#checkedFrames(frame)
      const { maxQueued } = this.#options
      if (stream.waiting + steps > maxQueued) {
        this.#refused++
        throw codedRangeError(
          'ERR_STREAM_QUEUE_FULL',
          `Cannot step a stream as at most ${maxQueued} time steps of it may wait: ${stream.waiting} wait and ${steps} were to be added. Await earlier steps, or drop input.`,
          { maxQueued, waiting: stream.waiting, steps },
        )
      }
      // A single frame of an idle stream is copied to its place in the round. Others are copied here, as the caller may
      // reuse its memory.
      const direct = steps === 1 && stream.calls.length === 0 && !stream.held
      const call: QueuedStep = {
        frames: direct ? frames : frames?.slice(),
        steps,
        done: 0,
        outputs: steps === 1 ? undefined : this.#array(steps * this.#columns),
        shape: shape.length === 1 ? [this.#columns] : [steps, this.#columns],
        since: performance.now(),
        resolve,
        reject,
      }
      this.#waiting += steps
      stream.waiting += steps
      stream.calls.push(call)
      if (isBackendTensor(frame)) this.#readFrames(stream, call, frame)
      this.#advance(stream)
    })
  }

  state(stream: StreamQueue): Promise<State> {
    return new Promise((resolve, reject) => {
      if (stream.ended !== undefined) throw stream.ended()
      this.#change(stream, () => resolve(this.#network.state(stream.row)), reject)
    })
  }

  restore(stream: StreamQueue, state: State): void {
    if (stream.ended !== undefined) throw stream.ended()
    const checked = this.#network.checkedState(state)
    this.#change(stream, () => this.#network.restore(stream.row, checked))
  }

  reset(stream: StreamQueue): void {
    if (stream.ended !== undefined) throw stream.ended()
    this.#change(stream, () => this.#network.reset(stream.row))
  }

  close(stream: StreamQueue): void {
    if (!this.#open.delete(stream)) return
    this.#waiting -= stream.waiting
    stream.end(streamClosed)
    this.#suspended.delete(stream)
    const place = this.#gathered.indexOf(stream)
    if (place >= 0) {
      this.#gathered.splice(place, 1)
      this.#rows.copyWithin(place, place + 1)
      this.#frames.copyWithin(place * this.#inputSize, (place + 1) * this.#inputSize)
    }
    // A round that runs may still use the row. The stream that gets it begins with a change, which waits for the round.
    this.#freeRows.push(stream.row)
    if (this.#gathered.length === 0) this.#turn.cancel()
    // Every stream that is left may have input now.
    this.#schedule(false)
    this.#checkDrained()
  }

  protected override summary(): Summary {
    const { maxStreams } = this.#options
    const state = this.#disposed ? 'disposed' : 'live'
    return { kind: 'StreamPool', streams: this.#open.size, maxStreams, waiting: this.#waiting, state }
  }

  /** Queues a change or a read of a stream's state behind earlier steps. */
  #change(stream: StreamQueue, apply: () => void, reject: (reason: unknown) => void = () => {}): void {
    stream.calls.push({ apply, reject })
    this.#advance(stream)
  }

  /** Applies queued changes immediately, and adds the next time step to the round that is gathered. */
  #advance(stream: StreamQueue): void {
    while (!stream.held && stream.ended === undefined) {
      const call = stream.calls[0]
      if (call === undefined) return
      if (!isStep(call)) {
        if (this.#running) {
          this.#suspended.add(stream)
          return
        }
        stream.calls.shift()
        try {
          call.apply()
        } catch (error) {
          // An executor that was disposed: every step that follows reports it.
          call.reject(error)
        }
      } else if (call.steps === 0) {
        stream.calls.shift()
        call.resolve({
          data: required(call.outputs, 'calls of one step alone have no outputs, and settle in their round'),
          shape: call.shape,
        })
      } else if (call.frames === undefined) {
        return
      } else {
        this.#gather(stream, call.frames, call.done)
      }
    }
  }

  #gather(stream: StreamQueue, frames: FloatArray, index: number): void {
    const place = this.#gathered.push(stream) - 1
    const size = this.#inputSize
    this.#rows[place] = stream.row
    if (frames.length === size) this.#frames.set(frames, place * size)
    else this.#frames.set(frames.subarray(index * size, (index + 1) * size), place * size)
    stream.held = true
    this.#schedule(index > 0)
  }

  /** @param late whether a time step has waited for a round already. */
  #schedule(late: boolean): void {
    if (this.#running || this.#gathered.length === 0) return
    const { maxDelayMs, maxBatch } = this.#options
    const count = this.#gathered.length
    if (late || maxDelayMs === 0 || count >= Math.min(maxBatch, this.#open.size)) this.#turn.now()
    else this.#turn.after(maxDelayMs)
  }

  #beginRound(): void {
    const count = Math.min(this.#gathered.length, this.#options.maxBatch)
    if (count === 0) return
    const rows = this.#rows.slice(0, count)
    const input = this.#frames.subarray(0, count * this.#inputSize)
    const output = this.#outputs.subarray(0, count * this.#columns)
    let round: PromiseLike<void> | undefined
    let failure: { readonly reason: unknown } | undefined
    try {
      round = this.#network.step(rows, input, output)
      checkIsRound(round)
    } catch (reason) {
      failure = { reason }
    }
    // The executor has read the frames or copied them: the rest moves up.
    const streams = this.#gathered.splice(0, count)
    this.#rows.copyWithin(0, count, count + this.#gathered.length)
    this.#frames.copyWithin(0, count * this.#inputSize, (count + this.#gathered.length) * this.#inputSize)
    if (round === undefined || failure !== undefined) {
      this.#endRound(streams, output, failure)
      return
    }
    this.#running = true
    Promise.resolve(round)
      .catch((reason: unknown) => {
        failure = { reason }
      })
      .then(() => {
        this.#running = false
        this.#endRound(streams, output, failure)
        const suspended = [...this.#suspended]
        this.#suspended.clear()
        for (const stream of suspended) this.#advance(stream)
      })
  }

  #endRound(
    streams: readonly StreamQueue[],
    output: FloatArray,
    failure: { readonly reason: unknown } | undefined,
  ): void {
    if (this.#disposed) return
    const now = performance.now()
    this.#rounds++
    this.#batchSizes.add(streams.length)
    for (let index = 0; index < streams.length; index++) {
      const stream = streams[index]
      const result = this.#results.copyOf(output, index, streams.length)
      const call = stream.calls[0] as QueuedStep | undefined
      if (stream.ended === undefined && call !== undefined) {
        if (failure !== undefined) this.#fail(stream, call, failure.reason)
        else this.#deliver(stream, call, result, now)
      }
    }
    // After all results: the frames that follow join the next round in the order of this one.
    for (const stream of streams) {
      stream.held = false
      this.#advance(stream)
    }
    this.#schedule(true)
    this.#checkDrained()
  }

  #deliver(stream: StreamQueue, call: QueuedStep, result: FloatArray, now: number): void {
    this.#steps++
    this.#waiting--
    stream.waiting--
    this.#latencies.add(now - call.since)
    call.outputs?.set(result, call.done * this.#columns)
    call.done++
    if (call.done < call.steps) return
    stream.calls.shift()
    call.resolve({ data: call.outputs ?? result, shape: call.shape })
  }

  /** Rejects the step at the head of a stream; those behind it are tried. */
  #fail(stream: StreamQueue, call: QueuedStep, reason: unknown): void {
    const left = call.steps - call.done
    this.#failed++
    this.#waiting -= left
    stream.waiting -= left
    stream.calls.splice(stream.calls.indexOf(call), 1)
    call.reject(reason)
  }

  #readFrames(stream: StreamQueue, call: QueuedStep, frame: AnyBackendTensor): void {
    const checked = frame.read().then(({ data }) => {
      this.#network.checkFrames?.(data as FloatArray)
      return data as FloatArray
    })
    checked.then(
      (frames) => {
        call.frames = frames
        this.#advance(stream)
      },
      (reason: unknown) => {
        if (!stream.calls.includes(call)) return
        this.#fail(stream, call, reason)
        this.#advance(stream)
        this.#checkDrained()
      },
    )
  }

  #checkDrained(): void {
    if (this.#waiting > 0) return
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** The frames of a step and their number; undefined frames are still to be read. Throws as `checkTensor`. */
  #checkedFrames(frame: TensorLike): {
    readonly frames: FloatArray | undefined
    readonly shape: readonly number[]
    readonly steps: number
  } {
    const action = 'step a stream'
    if (!isBackendTensor(frame)) {
      // Each field of a caller's object is read once.
      const data = frame?.data
      const shape = frame?.shape
      if (Array.isArray(shape) && shape.length === 1 && shape[0] === this.#inputSize) {
        if (arrayTypeOf(data) === this.#arrayType && liveLength(data) === this.#inputSize) {
          this.#network.checkFrames?.(data as FloatArray)
          return { frames: data as FloatArray, shape, steps: 1 }
        }
      }
    }
    const given = checkIsTensor(action, 'frame', frame)
    const rank = given.shape.length === 1 ? [] : ['T']
    checkTensor(action, 'frame', given, { dtype: this.#network.dtype, shape: [...rank, this.#inputSize] })
    const steps = given.shape.length === 1 ? 1 : given.shape[0]
    if (isBackendTensor(given)) return { frames: undefined, shape: given.shape, steps }
    this.#network.checkFrames?.(given.data as FloatArray)
    return { frames: given.data as FloatArray, shape: given.shape, steps }
  }

  #array(length: number): FloatArray {
    return new DTYPES[this.#network.dtype].array(length)
  }
}

/** Throws TypeError `ERR_INVALID_ARGUMENT`. */
function checkIsRound(round: unknown): void {
  if (round === undefined || typeof (round as PromiseLike<void> | null)?.then === 'function') return
  throw codedTypeError(
    'ERR_INVALID_ARGUMENT',
    `Cannot step a stream as step() of its network must return a promise or undefined: current value is ${describeValue(round)}`,
    { argument: 'network' },
  )
}
