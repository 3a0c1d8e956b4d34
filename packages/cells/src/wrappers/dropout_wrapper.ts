import { checkArguments, checkOptions, FLAG, FUNCTION, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { elementCount } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { type CellState, mapState, type StateTree } from '../cell/cell_state.js'
import { CellWrapper } from './cell_wrapper.js'
import { DropoutMasks, KEEP_PROBABILITY, SEED } from '../cell/dropout_masks.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { columnsOf, type GraphStep, type StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  /** With which an element of the input is kept. */
  inputKeepProb: KEEP_PROBABILITY,
  /** With which an element of the output is kept. */
  outputKeepProb: KEEP_PROBABILITY,
  /** With which an element of the new state is kept. */
  stateKeepProb: KEEP_PROBABILITY,
  /** One mask for all steps of a run and all rows of the batch, as Gal & Ghahramani 2016 do. Default false. */
  variationalRecurrent: optional(FLAG),
  /** Seed of the masks; they are not TensorFlow's. Default 0. */
  seed: SEED,
  /**
   * Whether a tensor of the state, named as in `state.h` or `state[1].c`, is dropped. Default: all but the c of an LSTM, as
   * TensorFlow's `dropout_state_filter_visitor`.
   */
  dropoutStateFilter: optional<(path: string) => boolean>(FUNCTION),
}

/** Options of {@link DropoutWrapper}; probabilities are > 0 and at most 1, 1 by default. */
export interface DropoutWrapperOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `DropoutWrapper`: dropout of a cell's input, output and new state, scaled by 1/keep probability. The variables
 * and their names are the cell's.
 *
 * TensorFlow drops whenever a probability is below 1, so that its users feed 1 in inference; here only `training` drops. Its
 * `input_size` and `dtype` serve the construction of a graph and have no counterpart.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { BasicLSTMCell, DropoutWrapper } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new DropoutWrapper(new BasicLSTMCell(4), { outputKeepProb: 0.8, seed: 1 })
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class DropoutWrapper<State extends CellState> extends CellWrapper<State> {
  readonly inputKeepProb: number
  readonly outputKeepProb: number
  readonly stateKeepProb: number
  readonly variationalRecurrent: boolean
  readonly #masks: DropoutMasks
  readonly #dropsState: (path: string) => boolean
  /** What variational masks are remembered by, one object per place. */
  readonly #places = new Map<string, object>()

  constructor(cell: RNNCell<State>, options: DropoutWrapperOptions = {}) {
    checkArguments('build DropoutWrapper', { cell }, { cell: CELL })
    const given = checkOptions('build DropoutWrapper', options, OPTIONS)
    super(cell, cell.name, '')
    this.inputKeepProb = given.inputKeepProb ?? 1
    this.outputKeepProb = given.outputKeepProb ?? 1
    this.stateKeepProb = given.stateKeepProb ?? 1
    this.variationalRecurrent = given.variationalRecurrent ?? false
    this.#masks = new DropoutMasks(given.seed ?? 0)
    this.#dropsState = given.dropoutStateFilter ?? ((path) => !path.endsWith('.c'))
  }

  override get randomSources(): readonly DropoutMasks[] {
    return [this.#masks, ...super.randomSources]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const input = this.#dropped(graph, x, this.inputKeepProb, 'input')
    const inner = graph.innerStep(this.cell as unknown as RNNCell<CellState>, '', input, state)
    const next = mapState<Value, Value>([inner.state], ([leaf], path) =>
      this.#dropsState(path) ? this.#dropped(graph, leaf, this.stateKeepProb, path) : leaf,
    )
    return { output: this.#dropped(graph, inner.output, this.outputKeepProb, 'output'), state: next }
  }

  #dropped(graph: StepGraph, value: Value, keepProb: number, place: string): Value {
    if (keepProb === 1 || !graph.run.training) return value
    const draw = (count: number) => this.#masks.draw(this.dtype, count, keepProb)
    if (!this.variationalRecurrent) return graph.masked(value, value.shape, () => draw(elementCount(value.shape)))
    const owner = this.#places.get(place) ?? {}
    this.#places.set(place, owner)
    const columns = columnsOf(value)
    return graph.masked(value, [columns], (run) => run.once(owner, () => draw(columns)))
  }
}
