import { checkArguments, methods } from '@cudnn-rnn/canonical/rules'
import type { CellState } from '../cell/cell_state.js'
import { type FusedRNNCell, FusedWrapper } from './fused_wrapper.js'
import { reverseSteps } from './sequence_layout.js'
import type { SequenceOperands, SequencePass } from '../cell/sequence_pass.js'
import type { SequenceRunner } from './sequence_run.js'

const FUSED_CELL = methods('a fused cell such as new LSTMBlockFusedCell(4)', 'pass', 'build', 'zeroGradients')

/**
 * TensorFlow's `TimeReversedFusedRNN`: a fused cell that walks each row from its own last step to its first; outputs come
 * back in the order of the inputs.
 *
 * @example
 * ```ts
 * import { LSTMBlockFusedCell, TimeReversedFusedRNN } from '@cudnn-rnn/rnn/cells'
 *
 * const layer = new TimeReversedFusedRNN(new LSTMBlockFusedCell(4))
 * const inputs = { data: new Float32Array(5 * 2 * 3).fill(1), shape: [5, 2, 3] } // [T,B,I]
 * const { outputs } = layer.call(inputs, { sequenceLength: [5, 2], training: false })
 * console.log(outputs.shape) // [5, 2, 4]
 * ```
 */
export class TimeReversedFusedRNN<State extends CellState> extends FusedWrapper<State, FusedRNNCell<State>> {
  /** Throws TypeError `ERR_INVALID_ARGUMENT`. */
  constructor(cell: FusedRNNCell<State>) {
    checkArguments('build TimeReversedFusedRNN', { cell }, { cell: FUSED_CELL })
    super('TimeReversedFusedRNN', cell)
  }

  override pass(sequence: SequenceOperands<State>): SequencePass<State> {
    return reversedPass(this.cell, sequence)
  }
}

/** `runner` over the reversed sequence, with outputs and gradients turned back; a reversal is its own inverse. */
export function reversedPass<State>(
  runner: SequenceRunner<State>,
  sequence: SequenceOperands<State>,
): SequencePass<State> {
  const { inputs, lengths } = sequence
  const pass = runner.pass({ ...sequence, inputs: reverseSteps(inputs, lengths) })
  return {
    outputs: reverseSteps(pass.outputs, lengths),
    state: pass.state,
    backward(dOutputs, dState, variableGradients) {
      const gradients = pass.backward(reverseSteps(dOutputs, lengths), dState, variableGradients)
      return { inputs: reverseSteps(gradients.inputs, lengths), state: gradients.state }
    },
  }
}
