import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import { checkArguments, checkOptions, FLAG, methods, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { CellState, StateSize } from '../cell/cell_state.js'
import type { BuildOptions, VariableMap } from '../cell/cell_variables.js'
import { CELL, type RNNCell, type SequenceOperands, type SequencePass } from '../cell/rnn_cell.js'
import { reverseSteps, type SequenceInput } from './sequence_layout.js'
import {
  runSequence,
  SEQUENCE_OPTIONS,
  type SequenceOptions,
  type SequenceResult,
  type SequenceRunner,
} from './sequence_run.js'
import { unrolled } from './unroll.js'

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

/** The cell of a wrapper. */
type Wrapped = Omit<SequenceRunner<never>, 'pass' | 'build'> & {
  build(inputSize: number, options?: BuildOptions): void
}

/** A fused cell around another cell that has the sizes and variables of that one. */
abstract class FusedWrapper<State extends CellState, Cell extends Wrapped>
  extends Inspectable
  implements FusedRNNCell<State>
{
  readonly cell: Cell
  readonly #kind: string

  /** @param kind the class, for printing: a bundler may have renamed it. */
  constructor(kind: string, cell: Cell) {
    super()
    this.#kind = kind
    this.cell = cell
  }

  protected override summary(): Summary {
    return { kind: this.#kind, cell: String(this.cell) }
  }

  get name(): string {
    return this.cell.name
  }

  get dtype(): Cell['dtype'] {
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

  build(inputSize: number, options: BuildOptions = {}): void {
    this.cell.build(inputSize, options)
  }

  zeroGradients(): VariableMap {
    return this.cell.zeroGradients()
  }

  abstract pass(sequence: SequenceOperands<State>): SequencePass<State>

  /** Like {@link FusedRNNCell.call}; throws the errors of the wrapped cell. */
  call<Sequence extends SequenceInput, Training extends boolean = true>(
    inputs: Sequence,
    options: SequenceOptions<State, Training> = {},
  ): SequenceResult<State, Sequence, Training> {
    const given = checkOptions<SequenceOptions<unknown, boolean>>(`run ${this.name}`, options, SEQUENCE_OPTIONS)
    return runSequence(this, inputs, given as typeof options)
  }
}

const OPTIONS = {
  /** Default false. */
  useDynamicRnn: optional(FLAG),
}

interface FusedRNNCellAdaptorOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `FusedRNNCellAdaptor`: a step cell with the interface of a fused one.
 *
 * `useDynamicRnn` chooses between TensorFlow's two graph builders; here one loop serves both, so it changes no number.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { BasicLSTMCell, FusedRNNCellAdaptor } from '@cudnn-rnn/rnn/cells'
 *
 * const layer = new FusedRNNCellAdaptor(new BasicLSTMCell(4))
 * const inputs = { data: new Float32Array(5 * 2 * 3).fill(1), shape: [5, 2, 3] } // [T,B,I]
 * const { outputs, state } = layer.call(inputs, { sequenceLength: [5, 2] })
 * console.log(outputs.shape, state.c.shape) // [5, 2, 4] [2, 4]
 * ```
 */
export class FusedRNNCellAdaptor<State extends CellState> extends FusedWrapper<State, RNNCell<State>> {
  readonly useDynamicRnn: boolean

  constructor(cell: RNNCell<State>, options: FusedRNNCellAdaptorOptions = {}) {
    checkArguments('build FusedRNNCellAdaptor', { cell }, { cell: CELL })
    const { useDynamicRnn = false } = checkOptions('build FusedRNNCellAdaptor', options, OPTIONS)
    super('FusedRNNCellAdaptor', cell)
    this.useDynamicRnn = useDynamicRnn
  }

  /** The cell's own variables. */
  get variables(): VariableMap {
    return this.cell.variables
  }

  override pass(sequence: SequenceOperands<State>): SequencePass<State> {
    return unrolled(this.cell).pass(sequence)
  }
}

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
