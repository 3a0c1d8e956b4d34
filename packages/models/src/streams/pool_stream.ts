import type { TensorLike } from '@cudnn-rnn/ops'
import { Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import type { PooledStream } from './stream_pool.js'
import type { StreamQueue } from './stream_queue.js'

/** Operations of a pool on one of its streams. */
export interface StreamOperations<State> {
  step(stream: StreamQueue, frame: TensorLike): Promise<Tensor>
  state(stream: StreamQueue): Promise<State>
  restore(stream: StreamQueue, state: State): void
  reset(stream: StreamQueue): void
  close(stream: StreamQueue): void
}

/** A caller's handle of one stream. */
export class PoolStream<State> extends Inspectable implements PooledStream<State> {
  readonly #pool: StreamOperations<State>
  readonly #queue: StreamQueue

  constructor(pool: StreamOperations<State>, queue: StreamQueue) {
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

  step(frame: TensorLike): Promise<Tensor> {
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
