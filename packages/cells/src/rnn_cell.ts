import { type CellState, checkState, type StateSize, zeroState } from './cell_state.js'
import { type CellTape, type TapeWhen, tapeWhen } from './cell_tape.js'
import { CellVariables, type VariableMap } from './cell_variables.js'
import { checkFloatTensor, type FloatTensor, zeros } from './float_tensor.js'

/** Gradients of the loss by a step's results; each may be left out. */
export interface CellOutputGradients<State extends CellState> {
  /** [B, outputSize] */
  readonly output?: FloatTensor | undefined
  readonly state?: State | undefined
}

/** Gradients of the loss by a step's arguments. */
export interface CellInputGradients<State extends CellState> {
  /** [B,I] */
  readonly input: FloatTensor
  readonly state: State
  readonly variables: VariableMap
}

/** What {@link RNNCell.call} returns. */
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

/** A cell makes one time step: input [B,I] and state to output and next state. TensorFlow's `RNNCell`. */
export abstract class RNNCell<State extends CellState> extends CellVariables {
  /** Columns of each state tensor, in the state's structure. */
  abstract readonly stateSize: StateSize
  /** Columns of the output. */
  abstract readonly outputSize: number

  /** The step itself, on arguments that {@link checkStep} accepts; for wrappers, which check once per sequence. */
  abstract step(input: FloatTensor, state: State): CellStep<State>

  /** The state of zeros for `batch` rows. */
  zeroState(batch: number): State {
    return zeroState(this.stateSize, batch, this.dtype) as State
  }

  /**
   * One time step; creates the variables if there are none.
   *
   * @param input [B,I]
   * @param options `training: false` keeps nothing for a backward. Default true.
   * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`; RangeError `ERR_SHAPE`
   */
  call<Training extends boolean = true>(
    input: FloatTensor,
    state: State,
    { training }: { readonly training?: Training | undefined } = {},
  ): CellResult<State, Training> {
    const action = `call ${this.name}`
    checkFloatTensor(action, 'input', input, this.dtype, ['B', this.inputSize ?? 'I'])
    const [batch, inputSize] = input.shape as [number, number]
    checkState(action, state, this.stateSize, batch, this.dtype)
    this.build(inputSize)
    const zeroGradients = this.zeroGradients.bind(this)
    const step = this.step(input, state)
    const backward = (given: CellOutputGradients<State>): CellInputGradients<State> => {
      const outputShape = [batch, this.outputSize]
      const output = given.output ?? zeros(this.dtype, outputShape)
      const stateGradient = given.state ?? this.zeroState(batch)
      checkFloatTensor('run backward', 'output gradient', output, this.dtype, outputShape)
      checkState('run backward', stateGradient, this.stateSize, batch, this.dtype, 'state gradient')
      const variables = zeroGradients()
      return { ...step.backward(output, stateGradient, variables), variables }
    }
    return { output: step.output, state: step.state, tape: tapeWhen(training, backward) }
  }
}
