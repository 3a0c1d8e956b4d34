import { checkArguments, checkOptions, FLAG, type OptionsOf, optional } from '@cudnn-rnn/arguments'
import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import type { CellRun } from './cell_run.js'
import type { CellState, StateSize } from './cell_state.js'
import type { BuildOptions, VariableMap } from './cell_variables.js'
import type { FloatTensor } from './float_tensor.js'
import type { FusedRNNCell } from './fused_rnn_cell.js'
import { CELL, type RNNCell } from './rnn_cell.js'
import type { SequenceInput } from './sequence_layout.js'
import type { SequencePass } from './sequence_pass.js'
import { runSequence, SEQUENCE_OPTIONS, type SequenceOptions, type SequenceResult } from './sequence_run.js'
import { unrolled } from './unroll.js'

const OPTIONS = {
  /** Default false. */
  useDynamicRnn: optional(FLAG),
}

/** Options of {@link FusedRNNCellAdaptor}. */
export interface FusedRNNCellAdaptorOptions extends OptionsOf<typeof OPTIONS> {}

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
export class FusedRNNCellAdaptor<State extends CellState> extends Inspectable implements FusedRNNCell<State> {
  readonly cell: RNNCell<State>
  readonly useDynamicRnn: boolean

  constructor(cell: RNNCell<State>, options: FusedRNNCellAdaptorOptions = {}) {
    super()
    checkArguments('build FusedRNNCellAdaptor', { cell }, { cell: CELL })
    checkOptions('build FusedRNNCellAdaptor', options, OPTIONS)
    this.cell = cell
    this.useDynamicRnn = options.useDynamicRnn ?? false
  }

  protected override summary(): Summary {
    return { kind: 'FusedRNNCellAdaptor', cell: String(this.cell) }
  }

  get name(): string {
    return this.cell.name
  }

  get dtype(): RNNCell<State>['dtype'] {
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

  /** The cell's own variables. */
  get variables(): VariableMap {
    return this.cell.variables
  }

  build(inputSize: number, options: BuildOptions = {}): void {
    this.cell.build(inputSize, options)
  }

  zeroGradients(): VariableMap {
    return this.cell.zeroGradients()
  }

  pass(inputs: FloatTensor, state: State, lengths: Int32Array | null, run: CellRun): SequencePass<State> {
    return unrolled(this.cell).pass(inputs, state, lengths, run)
  }

  /** As {@link FusedRNNCell.call}; throws the errors of `dynamicRnn`. */
  call<Sequence extends SequenceInput, Training extends boolean = true>(
    inputs: Sequence,
    options: SequenceOptions<State, Training> = {},
  ): SequenceResult<State, Sequence, Training> {
    checkOptions<SequenceOptions<unknown, boolean>>(`run ${this.name}`, options, SEQUENCE_OPTIONS)
    return runSequence(this, inputs, options)
  }
}
