import {
  checkArguments,
  checkOptionNames,
  checkOptions,
  FLAG,
  integerFrom,
  listOf,
  methods,
  OBJECT,
  optional,
  type OptionsOf,
  where,
} from '@cudnn-rnn/canonical/rules'
import { SIZE } from './cell_options.js'
import { CellRun, kernelsOf, type ProductBackend } from './cell_run.js'
import { type CellState, checkState, type StateSize, zeroState } from './cell_state.js'
import { type CellTape, type TapeWhen, tapeWhen } from './cell_tape.js'
import { CellVariables, type VariableMap } from './cell_variables.js'
import type { DropoutMasks } from './dropout_masks.js'
import { checkFloatTensor, type FloatTensor, zeros } from './float_tensor.js'

/** The methods that wrappers need of a cell; cells of other copies of this package have them too. */
export const CELL = methods('a cell such as new LSTMCell(4)', 'step', 'build', 'zeroState', 'zeroGradients')

/** Gradients of the loss with respect to a step's results; each may be left out. */
interface CellOutputGradients<State extends CellState> {
  /** [B, outputSize] */
  readonly output?: FloatTensor | undefined
  readonly state?: State | undefined
}

/** Gradients of the loss with respect to a step's arguments. */
type CellInputGradients<State extends CellState> = {
  /** [B,I] */
  readonly input: FloatTensor
  readonly state: State
  readonly variables: VariableMap
}

export const CELL_CALL_OPTIONS = {
  training: optional(FLAG),
  /** The executor that computes the products, of the cell's dtype; only those in host memory can. Default: TypeScript. */
  backend: optional<ProductBackend>(OBJECT),
}

export interface CellCallOptions<Training extends boolean = true> extends OptionsOf<typeof CELL_CALL_OPTIONS> {
  /** False keeps nothing for a backward and drops nothing. Default true. */
  readonly training?: Training | undefined
}

/** Result of {@link RNNCell.call}. */
export interface CellResult<State extends CellState, Training extends boolean = true> {
  /** [B, outputSize] */
  readonly output: FloatTensor
  readonly state: State
  readonly tape: TapeWhen<Training, CellTape<CellOutputGradients<State>, CellInputGradients<State>>>
}

/** One unchecked step and its backward, which adds to `variableGradients`. */
export interface CellStep<State extends CellState> {
  readonly output: FloatTensor
  readonly state: State
  backward(
    output: FloatTensor,
    state: State,
    variableGradients: VariableMap,
  ): { readonly input: FloatTensor; readonly state: State }
}

/**
 * A cell makes one time step: input [B,I] and state to output and next state. TensorFlow's `RNNCell`.
 *
 * @example
 * ```ts
 * import { outputSize } from '@cudnn-rnn/rnn/canonical'
 * import { type CellState, GRUBlockCell, LSTMCell, RNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cells: RNNCell<CellState>[] = [new LSTMCell(4), new GRUBlockCell(4)]
 * for (const cell of cells) cell.build(3)
 * console.log(cells.map(({ outputSize, stateSize }) => [outputSize, stateSize])) // [[4, { c: 4, h: 4 }], [4, 4]]
 * ```
 */
export abstract class RNNCell<State extends CellState> extends CellVariables {
  /** Columns of each state tensor, in the state's structure. */
  abstract readonly stateSize: StateSize
  /** Columns of the output. */
  abstract readonly outputSize: number

  /** The step itself, on arguments that were checked; for wrappers, which check once per sequence. */
  abstract step(input: FloatTensor, state: State, run: CellRun): CellStep<State>

  /** A whole sequence [T,B,I] at once, in cells that do better than step by step; undefined if this run does not. */
  sequencePass?(sequence: SequenceOperands<State>): SequencePass<State> | undefined

  /** Whether the cell's equations are operations that executors have, so that `tensorRnn` takes the cell. */
  get runsOnTensors(): boolean {
    return false
  }

  /** The masks that the cell draws in training; none for most cells. */
  get randomSources(): readonly DropoutMasks[] {
    return []
  }

  /** How far the cell's masks are drawn: restored, a run draws the same ones again. Empty for most cells. */
  randomState(): readonly number[] {
    return this.randomSources.map(({ position }) => position)
  }

  /** Restores a result of {@link randomState}. Throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_INVALID_OPTION`. */
  restoreRandomState(state: readonly number[]): void {
    const sources = this.randomSources
    const rule = where(
      listOf(integerFrom(0)),
      `an array of ${sources.length} integers >= 0`,
      (list: readonly number[]) => {
        return list.length === sources.length
      },
    )
    checkArguments(`restore the masks of ${this.name}`, { state }, { state: rule })
    for (const [index, source] of sources.entries()) source.position = state[index]
  }

  /** The state of zeros for `batch` rows. Throws TypeError `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`. */
  zeroState(batch: number): State {
    checkArguments(`make the state of ${this.name}`, { batch }, { batch: SIZE })
    return zeroState(this.stateSize, batch, this.dtype) as State
  }

  /**
   * One time step; creates the variables if there are none.
   *
   * @param input [B,I]
   * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`; RangeError `ERR_SHAPE`
   */
  call<Training extends boolean = true>(
    input: FloatTensor,
    state: State,
    options: CellCallOptions<Training> = {},
  ): CellResult<State, Training> {
    const action = `call ${this.name}`
    const { training, backend } = checkOptions<CellCallOptions<boolean>>(action, options, CELL_CALL_OPTIONS)
    const kernels = kernelsOf(action, backend, this.dtype)
    const x = checkFloatTensor(action, 'input', input, this.dtype, ['B', this.inputSize ?? 'I'])
    const [batch, inputSize] = x.shape as [number, number]
    const before = checkState(action, state, this.stateSize, batch, this.dtype) as State
    this.build(inputSize)
    const zeroGradients = this.zeroGradients.bind(this)
    const run = new CellRun(this.dtype, training !== false, kernels)
    const step = this.step(x, before, run)
    const backward = (given: CellOutputGradients<State>) => {
      checkOptionNames('run backward', given, ['output', 'state'])
      const outputShape = [batch, this.outputSize]
      const output = checkFloatTensor(
        'run backward',
        'output gradient',
        given.output ?? zeros(this.dtype, outputShape),
        this.dtype,
        outputShape,
      )
      const stateGradient = checkState(
        'run backward',
        given.state ?? zeroState(this.stateSize, batch, this.dtype),
        this.stateSize,
        batch,
        this.dtype,
        'state gradient',
      ) as State
      return (): CellInputGradients<State> => {
        const variables = zeroGradients()
        const gradients = step.backward(output, stateGradient, variables)
        run.finishGradients()
        return { variables, ...gradients }
      }
    }
    return { output: step.output, state: step.state, tape: tapeWhen(training as Training | undefined, backward) }
  }
}

/** The operands of a {@link SequencePass}. */
export interface SequenceOperands<State> {
  /** [T,B,I] */
  readonly inputs: FloatTensor
  /** Before the first step. */
  readonly state: State
  /** Null when every row has T steps. */
  readonly lengths: Int32Array | null
  readonly run: CellRun
}

/** An unchecked pass over [T,B,I] and its backward, which adds to `variableGradients`. */
export interface SequencePass<State> {
  readonly outputs: FloatTensor
  readonly state: State
  backward(
    outputs: FloatTensor,
    state: State,
    variableGradients: VariableMap,
  ): { readonly inputs: FloatTensor; readonly state: State }
}
