import type { FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'

/**
 * A network whose streams are the rows of one batch: the steps that a pool gathers. A model of recurrent and other layers
 * becomes a pool by implementing it. Only `checkedState` and `dispose` are called before the promise of a step is settled.
 */
export interface RowNetwork<State> {
  readonly dtype: FloatDType
  /** I */
  readonly inputSize: number
  /** D */
  readonly outputSize: number
  /** Throws for frames [T,I] of one stream that a step would refuse: before they join a round with other streams' frames. */
  checkFrames?(frames: FloatArray): void
  /**
   * One time step of the rows `rows` [R], each named once, and of no others: input [R,I] to output [R,D]. It reads `input`
   * before it returns. It returns a promise where it computes elsewhere; the next round is gathered meanwhile. A step that
   * fails leaves the states as they were.
   */
  step(rows: Int32Array, input: FloatArray, output: FloatArray): Promise<void> | undefined
  /** Zeroes the state of a row. */
  reset(row: number): void
  /** A copy of the state of a row at the time of the call. */
  state(row: number): Promise<State>
  /** A copy of a state that a caller gave, or an error thrown for one that does not fit. */
  checkedState(state: State): State
  /** @param state a result of {@link checkedState}, which becomes the network's. */
  restore(row: number, state: State): void
  dispose(): void
}
