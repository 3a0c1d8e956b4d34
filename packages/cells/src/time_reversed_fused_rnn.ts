import { checkArguments, checkOptions, methods } from '@cudnn-rnn/arguments'
import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import type { CellRun } from './cell_run.js'
import type { CellState, StateSize } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'
import type { FusedRNNCell } from './fused_rnn_cell.js'
import { reverseSteps, type SequenceInput } from './sequence_layout.js'
import type { SequencePass } from './sequence_pass.js'
import {
  runSequence,
  SEQUENCE_OPTIONS,
  type SequenceOptions,
  type SequenceResult,
  type SequenceRunner,
} from './sequence_run.js'

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
export class TimeReversedFusedRNN<State extends CellState> extends Inspectable implements FusedRNNCell<State> {
  readonly cell: FusedRNNCell<State>

  /** Throws TypeError `ERR_INVALID_ARGUMENT`. */
  constructor(cell: FusedRNNCell<State>) {
    super()
    checkArguments('build TimeReversedFusedRNN', { cell }, { cell: FUSED_CELL })
    this.cell = cell
  }

  protected override summary(): Summary {
    return { kind: 'TimeReversedFusedRNN', cell: String(this.cell) }
  }

  get name(): string {
    return this.cell.name
  }

  get dtype(): FusedRNNCell<State>['dtype'] {
    return this.cell.dtype
  }

  get inputSize(): number | undefined {
    return this.cell.inputSize
  }

  get stateSize(): StateSize {
    return this.cell.stateSize
  }

  get outputSize(): number {
    return this.cell.outputSize
  }

  build(inputSize: number): void {
    this.cell.build(inputSize)
  }

  zeroGradients(): VariableMap {
    return this.cell.zeroGradients()
  }

  pass(inputs: FloatTensor, state: State, lengths: Int32Array | null, run: CellRun): SequencePass<State> {
    return reversedPass(this.cell, inputs, state, lengths, run)
  }

  /** As {@link FusedRNNCell.call}; throws the errors of the wrapped cell. */
  call<Sequence extends SequenceInput, Training extends boolean = true>(
    inputs: Sequence,
    options: SequenceOptions<State, Training> = {},
  ): SequenceResult<State, Sequence, Training> {
    checkOptions<SequenceOptions<unknown, boolean>>(`run ${this.name}`, options, SEQUENCE_OPTIONS)
    return runSequence(this, inputs, options)
  }
}

/** `runner` over the reversed sequence, with outputs and gradients turned back; a reversal is its own inverse. */
export function reversedPass<State>(
  runner: SequenceRunner<State>,
  inputs: FloatTensor,
  state: State,
  lengths: Int32Array | null,
  run: CellRun,
): SequencePass<State> {
  const pass = runner.pass(reverseSteps(inputs, lengths), state, lengths, run)
  return {
    outputs: reverseSteps(pass.outputs, lengths),
    state: pass.state,
    backward(dOutputs, dState, variableGradients) {
      const gradients = pass.backward(reverseSteps(dOutputs, lengths), dState, variableGradients)
      return { inputs: reverseSteps(gradients.inputs, lengths), state: gradients.state }
    },
  }
}
