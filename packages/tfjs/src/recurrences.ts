import type { ActivationName } from './activation.js'
import type { PlannedCell } from './recurrent_layer.js'
import type { SequenceOperands, SequencePass } from './sequence.js'

/** An executor as the recurrences of TensorFlow.js's cells. */
export interface Recurrences {
  /** Cells of other activations are TensorFlow.js's. */
  readonly activations: readonly ActivationName[]
  /** One cell over a batch of sequences, done when the call returns. */
  run(cell: PlannedCell, o: SequenceOperands): SequencePass
}
