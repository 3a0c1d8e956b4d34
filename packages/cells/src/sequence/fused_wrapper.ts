import { checkOptions } from '@cudnn-rnn/canonical/rules'
import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import type { CellState, StateSize } from '../cell/cell_state.js'
import type { SequenceInput } from './sequence_layout.js'
import {
  runSequence,
  SEQUENCE_OPTIONS,
  type SequenceOptions,
  type SequenceResult,
  type SequenceRunner,
} from './sequence_run.js'
import type { BuildOptions, VariableMap } from '../cell/cell_variables.js'
import type { SequenceOperands, SequencePass } from '../cell/sequence_pass.js'

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
export abstract class FusedWrapper<State extends CellState, Cell extends Wrapped>
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
    checkOptions<SequenceOptions<unknown, boolean>>(`run ${this.name}`, options, SEQUENCE_OPTIONS)
    return runSequence(this, inputs, options)
  }
}
