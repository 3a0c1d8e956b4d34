import type { CanonicalParams, FloatArray, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'
import type { BackendTensor, TensorLike } from './backend_tensor.js'

/**
 * Inputs of one pass over a batch of sequences.
 *
 * @inline
 */
type RnnForwardInputs = {
  /** [T,B,I] */
  readonly input: TensorLike
  /** [L·D,B,P or H]; null for zeros. */
  readonly inputH: TensorLike | null
  /** [L·D,B,H], LSTM only; null for zeros. */
  readonly inputC: TensorLike | null
  /** Opaque, [paramsSize]. */
  readonly params: TensorLike
  /** One length in 0..T per batch row, in any order; null when every row has T steps. */
  readonly sequenceLengths: readonly number[] | Int32Array | null
  /** Training applies dropout and returns a tape. */
  readonly training: boolean
}

export interface RnnForwardResult {
  /** [T,B,D·(P or H)], zero past each row's length. */
  readonly output: BackendTensor
  /** [L·D,B,P or H], the state at each row's last valid step; a row of length 0 keeps its initial state. */
  readonly outputH: BackendTensor
  /** [L·D,B,H]; LSTM only. */
  readonly outputC: BackendTensor | undefined
  /** In training only. */
  readonly tape: Tape | undefined
}

/**
 * Memory from one training forward to its backward (cuDNN's reserve space and the tensors that the backward reads). It owns that
 * memory until the one `backward` that consumes it, or until it is disposed.
 */
export interface Tape {
  readonly state: 'open' | 'consumed' | 'disposed'
  dispose(): void
  [Symbol.dispose](): void
}

/**
 * Gradients of the loss with respect to the results of a forward; an absent one is zero.
 *
 * @inline
 */
type RnnOutputGradients = {
  readonly output?: TensorLike | undefined
  readonly outputH?: TensorLike | undefined
  readonly outputC?: TensorLike | undefined
}

export interface RnnInputGradients {
  /** [T,B,I], zero past each row's length. */
  readonly input: BackendTensor
  readonly inputH: BackendTensor
  /** LSTM only. */
  readonly inputC: BackendTensor | undefined
  /** Same opaque layout as the parameters. */
  readonly params: BackendTensor
}

/** One recurrent network prepared by an executor. Holds no weights and no state but the dropout generator's. */
export interface Rnn {
  readonly descriptor: RnnDescriptor
  /** Elements of this executor's opaque buffer. */
  readonly paramsSize: number
  /** Makes an opaque buffer. Throws as `packCanonical` does. */
  canonicalToParams(canonical: CanonicalParams): BackendTensor
  /**
   * The canonical tensors of an opaque buffer (or of a gradient or slot of the same layout), as host copies.
   *
   * @param selection numbers of the tensors to convert, the weights from 0 and then the biases; the others come without
   *   elements, of shape [0]. Do not change `params` before the promise settles. Default all.
   */
  paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams>
  /** Settles when the arguments are accepted and the work is queued; reading a result waits for it. */
  forward(inputs: RnnForwardInputs): Promise<RnnForwardResult>
  /**
   * Consumes `tape`. Throws `ERR_TAPE_CONSUMED`, `ERR_TAPE_DISPOSED`, `ERR_TAPE_FOREIGN`, and `ERR_TAPE_STALE` when a
   * tensor that the forward took, or its output, was overwritten since: cuDNN reads them again.
   */
  backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients>
  /** Present on executors that can step without leaving the calling thread (CPU executors); unidirectional networks. */
  stepper?(params: TensorLike, batch: number): RnnStepper
  /**
   * Present on executors that keep the states of streams in the memory of a device; unidirectional networks. Checks the network
   * and then the parameters, as `stepper` does.
   */
  queuedStepper?(params: TensorLike, batch: number): RnnQueuedStepper
  /** The dropout generator's state as opaque bytes: restoring it makes the next training forward draw the same masks. */
  dropoutState(): Promise<Uint8Array>
  restoreDropoutState(state: Uint8Array): void
  dispose(): void
  [Symbol.dispose](): void
}

/** Carried state of a batch of streams: host copies of [L,B,P or H] and, for LSTM, [L,B,H]. */
export interface RnnStreamState {
  readonly h: Tensor
  readonly c: Tensor | undefined
}

/** Numbers of batch rows. */
type RowNumbers = readonly number[] | Int32Array

/** Inference one step at a time with the state carried inside; starts at zero. */
export interface RnnStepper {
  readonly batch: number
  /**
   * `input` [B,I] or [T,B,I] in the executor's dtype; writes the outputs [B,·] or [T,B,·] into `out` when given
   * (allocating nothing) and returns them.
   */
  stepSync(input: Tensor, out?: Tensor): Tensor
  /**
   * One step of the batch rows `rows` (R of them, each once, in any order) alone: `input` [R,I] to outputs [R,·], row r of
   * both belonging to batch row `rows[r]`. The states of the other rows stay as they are and are not copied.
   */
  stepRowsSync(rows: RowNumbers, input: Tensor, out?: Tensor): Tensor
  /** Zeroes the state of all streams, or of the batch rows named. */
  reset(rows?: RowNumbers): void
  /** Copies of the states [L,B,·], or of the R named batch rows [L,R,·]. */
  state(rows?: RowNumbers): RnnStreamState
  /** Takes over what {@link state} returned, for all rows or for those named. */
  restore(state: RnnStreamState, rows?: RowNumbers): void
  dispose(): void
}

/**
 * Like {@link RnnStepper}, on executors that compute elsewhere. Its caller checks row numbers, dtypes and shapes, makes no call
 * before the promise of the one before is settled, and does not change arguments before.
 */
export interface RnnQueuedStepper {
  readonly batch: number
  /**
   * Throws RangeError `ERR_STREAM_DISPOSED`, `ERR_BACKEND_DISPOSED` or `ERR_RNN_DISPOSED` if no step is possible any more.
   * The caller makes this check before it checks the arguments, as an {@link RnnStepper} does.
   */
  checkCanStep(): void
  /** T steps [T,B,I] → [T,B,·], T at least 1. A step that fails leaves the states as they were. */
  step(input: Tensor): Promise<Tensor>
  /** One step of R batch rows, at least one: [R,I] → [R,·]. */
  stepRows(rows: Int32Array, input: Tensor): Promise<Tensor>
  /**
   * Like {@link step}, into `out`, and blocks the calling thread until the device is done. Throws RangeError
   * `ERR_EXECUTOR_BUSY` if waiting would not end.
   */
  stepSync(input: Tensor, out: FloatArray): void
  /** Like {@link stepRows}; as {@link stepSync} otherwise. */
  stepRowsSync(rows: Int32Array, input: Tensor, out: FloatArray): void
  reset(rows?: Int32Array): void
  state(rows?: Int32Array): Promise<RnnStreamState>
  /** Reads `state` before it returns. */
  restore(state: RnnStreamState, rows?: Int32Array): void
  dispose(): void
}
