import type { RnnStreamState, TensorLike } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'

export interface StreamOptions {
  /** B, independent streams stepped together. Default 1. */
  readonly batch?: number | undefined
}

/**
 * Independent streams of one model, stepped as one batch. The stream owns the carried state, so the caller need not pass
 * it on; states start at zero.
 */
export interface Stream {
  /** B */
  readonly batch: number
  /** One step [B,I] → [B,·], or T steps [T,B,I] → [T,B,·]; a new host tensor. Steps run in the order of the calls. */
  step(input: TensorLike): Promise<Tensor>
  /**
   * As {@link step}, at once on the calling thread; writes into `out` when given and then allocates nothing.
   * Throws RangeError `ERR_NO_SYNC_STEP` on executors that compute elsewhere, `ERR_STREAM_BUSY` before an earlier
   * {@link step} is done.
   */
  stepSync(input: Tensor, out?: Tensor): Tensor
  /** Zeroes the state of all streams, or of the batch rows named. Throws `ERR_STREAM_ROW`, `ERR_STREAM_BUSY`. */
  reset(rows?: readonly number[]): void
  /** Copies of the carried states [L,B,·]. */
  state(): Promise<RnnStreamState>
  /** Throws RangeError `ERR_SHAPE` for states of another model or batch, `ERR_STREAM_BUSY`; TypeError `ERR_NOT_A_STATE`. */
  restore(state: RnnStreamState): void
  dispose(): void
  [Symbol.dispose](): void
}
