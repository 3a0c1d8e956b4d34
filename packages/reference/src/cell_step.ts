import type { FloatArray } from '@cudnn-rnn/canonical'

/** Operands of one forward step of one layer and direction; H units, G gates. */
export interface StepForward {
  /** H */
  readonly units: number
  /** Clip of the cell state; Infinity for none. */
  readonly cellClip: number
  /** [rows, G·H]: W·x + b_W of every step, row t·B + b. */
  readonly inputSide: FloatArray
  /** [B, G·H]: R·h + b_R of this step. */
  readonly recurrentSide: FloatArray
  /** [B, H]: the cell state, updated in place (LSTM). */
  readonly cell: FloatArray
  /** [B, H]: h before a projection; updated in place. */
  readonly hidden: FloatArray
  /** [rows, savedPerUnit·H]: values for the backward, plane by plane. */
  readonly saved: FloatArray
}

export interface StepBackward {
  readonly units: number
  readonly cellClip: number
  readonly saved: FloatArray
  /** [rows, P or H]: h before each step (read by GRU). */
  readonly previousHidden: FloatArray
  /** [B, H]: ∂L/∂h of this step, overwritten with the part of ∂L/∂h_prev that does not pass through R. */
  readonly hiddenGradient: FloatArray
  /** [B, H]: ∂L/∂c, overwritten with ∂L/∂c_prev (LSTM). */
  readonly cellGradient: FloatArray
  /** [rows, G·H]: ∂L/∂(W·x + b_W). */
  readonly inputSideGradient: FloatArray
  /** [B, G·H]: ∂L/∂(R·h + b_R) of this step. */
  readonly recurrentSideGradient: FloatArray
}

/** One cell's equations for one batch row of one step, forward and backward side by side. */
export interface CellStep {
  /** Planes of H values that a training forward keeps for each step and row. */
  readonly savedPerUnit: number
  /** Whether both sides of the pre-activation have the same gradient (all but GRU). */
  readonly sidesShareGradient: boolean
  /**
   * @param step row of `inputSide`: t·B + b.
   * @param savedRow row of `saved`: `step` in training, 0 in inference.
   * @param b batch row.
   */
  forward(buffers: StepForward, step: number, savedRow: number, b: number): void
  backward(buffers: StepBackward, step: number, b: number): void
}
