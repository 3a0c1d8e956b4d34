import { checkArguments, checkOptions, nullable, optional, type OptionsOf, TEXT } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { SIZE } from '../cell/cell_options.js'
import { type CellState, leavesOf, type StateSize, type StateTree } from '../cell/cell_state.js'
import { denseNames, denseSpecs, kernelSpec, OwnVariables, type VariableSpec } from '../cell/cell_variables.js'
import { type CellPart, CompositeCell } from './composite_cell.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { type GraphStep, rowsOf, type StepGraph } from '../graph/step_graph.js'

const QUERY = denseNames('attention')
const OUTPUT = denseNames('attn_output_projection')

const OPTIONS = {
  /** Scope of the variables in a checkpoint. Default `attention_cell_wrapper`. */
  name: optional(TEXT),
  /** A: columns of a slot of the memory, and of the output. Default: the cell's output. */
  attnSize: nullable(SIZE),
  /** V: columns of keys and query. Default: A. */
  attnVecSize: nullable(SIZE),
  /** Columns of the cell's input. Default: the wrapper's. */
  inputSize: nullable(SIZE),
}

interface AttentionCellWrapperOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `AttentionCellWrapper`: a cell that attends to its last L outputs (Bahdanau et al. 2015). Its state is the list
 * [cell state, attention [A], memory [L·A], the oldest slot first].
 *
 *     x' = [x, attention]·kernel + bias   y, s' = cell(x', s)
 *     q = [s']·attention/kernel + attention/bias, an LSTM's c before its h
 *     attention' = Σ a_l·H_l over the slots H_l, a = softmax of Σ attn_v∘tanh(H_l·attn_w + q)
 *     output = [y, attention']·attn_output_projection/kernel + …/bias, which takes the oldest slot's place
 *
 * Variables `kernel`, `bias`, `attention/attn_w` [1,1,A,V], `attention/attn_v` [V], `attention/kernel`, `attention/bias`,
 * `attn_output_projection/kernel` and `…/bias`; the cell's under its own scope.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { AttentionCellWrapper, BasicLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new AttentionCellWrapper(new BasicLSTMCell(4), 5)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.length) // [2, 4] 3
 * ```
 */
export class AttentionCellWrapper<State extends CellState> extends CompositeCell<
  readonly [State, FloatTensor, FloatTensor]
> {
  readonly cell: RNNCell<State>
  /** L */
  readonly attnLength: number
  /** A */
  readonly attnSize: number
  /** V */
  readonly attnVecSize: number
  readonly #own: CellPart
  readonly #inner: CellPart

  constructor(cell: RNNCell<State>, attnLength: number, options: AttentionCellWrapperOptions = {}) {
    checkArguments('build AttentionCellWrapper', { cell, attnLength }, { cell: CELL, attnLength: SIZE })
    const given = checkOptions('build AttentionCellWrapper', options, OPTIONS)
    const name = given.name ?? 'attention_cell_wrapper'
    super(name, cell.dtype)
    this.cell = cell
    this.attnLength = attnLength
    this.attnSize = given.attnSize ?? cell.outputSize
    this.attnVecSize = given.attnVecSize ?? this.attnSize
    const cellInput = (inputSize: number) => given.inputSize ?? inputSize
    const own = new OwnVariables(name, cell.dtype, (inputSize) => this.#specs(inputSize, cellInput(inputSize)))
    this.#own = { scope: '', cell: own, inputSizeOf: (inputSize) => inputSize }
    this.#inner = { scope: cell.scope, cell, inputSizeOf: cellInput }
  }

  get stateSize(): readonly StateSize[] {
    return [this.cell.stateSize, this.attnSize, this.attnLength * this.attnSize]
  }

  get outputSize(): number {
    return this.attnSize
  }

  protected override get parts(): readonly CellPart[] {
    return [this.#own, this.#inner]
  }

  protected override get inputPart(): CellPart {
    return this.#own
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const { attnLength, attnSize } = this
    const [before, attention, memory] = state as readonly [StateTree<Value>, Value, Value]
    const input = graph.linear([x, attention], 'kernel', 'bias')
    const cell = this.cell as unknown as RNNCell<CellState>
    const inner = graph.innerStep(cell, this.#inner.scope, input, before)
    const query = graph.linear(leavesOf(inner.state), ...QUERY)
    const slots = graph.t.reshape(memory, [rowsOf(x) * attnLength, attnSize])
    const keys = graph.linear([slots], 'attention/attn_w')
    const next = graph.additiveAttention(slots, keys, query, 'attention/attn_v')
    const output = graph.linear([inner.output, next], ...OUTPUT)
    const kept = graph.t.columns(memory, attnSize, (attnLength - 1) * attnSize)
    return { output, state: [inner.state, next, graph.t.concat([kept, output])] }
  }

  #specs(inputSize: number, cellInputSize: number): readonly VariableSpec[] {
    const { attnSize, attnVecSize } = this
    return [
      ...denseSpecs(['kernel', 'bias'], inputSize + attnSize, cellInputSize),
      kernelSpec('attention/attn_w', 1, 1, attnSize, attnVecSize),
      kernelSpec('attention/attn_v', attnVecSize),
      ...denseSpecs(QUERY, columnsOf(this.cell.stateSize), attnVecSize),
      ...denseSpecs(OUTPUT, this.cell.outputSize + attnSize, attnSize),
    ]
  }
}

function columnsOf(size: StateSize): number {
  return leavesOf(size).reduce((sum, columns) => sum + columns, 0)
}
