import type { RnnStreamState } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Frame, RowNumbers } from '@cudnn-rnn/ops/executor'

/**
 * Independent streams of one model, stepped as one batch. The stream owns the carried state, so the caller need not pass
 * it on; states start at zero.
 */
export interface Stream {
  /** B */
  readonly batch: number
  /**
   * One step [B,I] → [B,·], or T steps [T,B,I] → [T,B,·]; a new host tensor. Steps run in the order of the calls. The numbers of one step
   * may come without their shape: `stream.step([1, 2, 3])`.
   */
  step(input: Frame): Promise<Tensor>
  /**
   * {@link step}, synchronously on the calling thread; writes into `out` when given and then allocates nothing. The cudnn
   * executor blocks the thread until the device has done everything queued before, and allocates per call.
   *
   * @throws RangeError `ERR_STREAM_BUSY` before an earlier {@link step} is done, `ERR_EXECUTOR_BUSY` while another call of
   *   a cudnn executor prepares a new shape
   */
  stepSync(input: Tensor | FloatArray | readonly number[], out?: Tensor): Tensor
  /**
   * One step of R batch rows alone, each named once and in any order: [R,I] → [R,·], row r of both belonging to batch row
   * `rows[r]`. The states of the other rows stay as they are. Rejects with `ERR_STREAM_ROW`; otherwise as {@link step}.
   */
  stepRows(rows: RowNumbers, input: Frame): Promise<Tensor>
  /** {@link stepRows}, synchronously on the calling thread; like {@link stepSync} otherwise. */
  stepRowsSync(rows: RowNumbers, input: Tensor | FloatArray | readonly number[], out?: Tensor): Tensor
  /** Zeroes the state of all streams, or of the batch rows named. Throws `ERR_STREAM_ROW`, `ERR_STREAM_BUSY`. */
  reset(rows?: RowNumbers): void
  /**
   * Copies of the carried states [L,B,·], or of R batch rows [L,R,·]: after the steps called before. Rejects with
   * `ERR_STREAM_ROW`.
   */
  state(rows?: RowNumbers): Promise<RnnStreamState>
  /**
   * Takes over a state, of all rows or of the named ones.
   *
   * @throws RangeError `ERR_SHAPE` for states of another model or number of rows, `ERR_NO_CELL_STATE` for an LSTM's in
   *   another cell, `ERR_STREAM_ROW`, `ERR_STREAM_BUSY`;
   *   TypeError `ERR_NOT_A_STATE`
   */
  restore(state: RnnStreamState, rows?: RowNumbers): void
  dispose(): void
  [Symbol.dispose](): void
}
