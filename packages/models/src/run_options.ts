import { checkedElsewhere, type OptionsOf, optional, SIGNAL } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { CellMode } from '@cudnn-rnn/canonical'
import type { Operand, Value } from '@cudnn-rnn/ops/executor'

// The executor checks tensors and lengths, against the input's shape.
export const STATE_OPTIONS = {
  /** [L·D,B,P or H]. Default: zeros. */
  h: checkedElsewhere<TensorLike | null | undefined>(),
  /** [L·D,B,H], of an LSTM. Default: zeros. */
  c: checkedElsewhere<TensorLike | null | undefined>(),
}

export const RECORDED_RUN_OPTIONS = {
  /** The state before the first step, as the result of a run has it. Default: zeros. */
  state: checkedElsewhere<{ readonly h?: Operand | null; readonly c?: Operand | null } | null | undefined>(),
  /** One length in 0..T per batch row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

/** Options of a run on a tape. */
export interface RecordedRunOptions extends OptionsOf<typeof RECORDED_RUN_OPTIONS> {}

export const RUN_OPTIONS = {
  /** The state before the first step, as the result of a run has it. Default: zeros. */
  state: checkedElsewhere<OptionsOf<typeof STATE_OPTIONS> | null | undefined>(),
  /** One length in 0..T per batch row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
  /** Once it is aborted, the run rejects with its reason. */
  signal: optional(SIGNAL),
}

/** Options of a run without gradients. */
export interface RunOptions extends OptionsOf<typeof RUN_OPTIONS> {}

/** Result of a run without gradients; on a tape, its values in the place of tensors. */
export type RunResult<Cell extends CellMode = CellMode, Held = BackendTensor> = {
  /** [T,B,D·H]; with numProj P columns in place of H. */
  readonly output: Held
  readonly state: {
    /** [L·D,B,P or H] */
    readonly h: Held
    /** [L·D,B,H] */
    readonly c: Cell extends 'lstm' ? Held : undefined
  }
}

/** Result of a run on a tape. */
export type RecordedRunResult<Cell extends CellMode = CellMode> = RunResult<Cell, Value>
