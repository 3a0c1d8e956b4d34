import type { CellState } from '../cell/cell_state.js'
import type { SequenceInput } from './sequence_layout.js'
import type { SequenceOptions, SequenceResult, SequenceRunner } from './sequence_run.js'

/** A layer that computes whole sequences at once and cannot be stepped. TensorFlow's `FusedRNNCell`. */
export interface FusedRNNCell<State extends CellState> extends SequenceRunner<State> {
  /**
   * @param inputs [T,B,I], or a list of T tensors [B,I]; outputs have the same form.
   */
  call<Sequence extends SequenceInput, Training extends boolean = true>(
    inputs: Sequence,
    options?: SequenceOptions<State, Training>,
  ): SequenceResult<State, Sequence, Training>
}
