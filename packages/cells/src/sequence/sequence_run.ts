import {
  checkedElsewhere,
  checkOptionNames,
  codedTypeError,
  FLAG,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { checkSequenceLengths, type Dimension } from '@cudnn-rnn/ops/executor'
import { CellRun, kernelsOf } from '../cell/cell_run.js'
import { type CellState, checkState, type StateSize, zeroState } from '../cell/cell_state.js'
import { type CellTape, type TapeWhen, tapeWhen } from '../cell/cell_tape.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { checkFloatTensor, type FloatTensor, zeros } from '../cell/float_tensor.js'
import { CELL_CALL_OPTIONS, type CellCallOptions, type SequenceOperands, type SequencePass } from '../cell/rnn_cell.js'
import { exchangeTimeAndBatch, isList, type SequenceInput, stackSteps, unstackSteps } from './sequence_layout.js'

/** Rules of lengths, which {@link runSequence} checks against the input's shape. */
export const LENGTH_OPTIONS = {
  /** One length in 0..T per batch row, any order; past it outputs are 0 and the state does not change. Default: all T. */
  sequenceLength: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

/** Rules of the layout of a sequence that is one tensor. */
export const LAYOUT_OPTIONS = {
  /** Inputs and outputs are [T,B,…] instead of TensorFlow's default [B,T,…]. Default false. */
  timeMajor: optional(FLAG),
}

/** Rules of {@link SequenceOptions}. {@link runSequence} checks the state, too. */
export const SEQUENCE_OPTIONS = { ...CELL_CALL_OPTIONS, ...LENGTH_OPTIONS, initialState: checkedElsewhere<unknown>() }

export interface SequenceOptions<State, Training extends boolean = true>
  extends CellCallOptions<Training>,
    OptionsOf<typeof LENGTH_OPTIONS> {
  /** Default: zeros. */
  readonly initialState?: State | undefined
}

/** Gradients of the loss with respect to a sequence's results; each may be left out. */
interface SequenceOutputGradients<State> {
  /** In the layout of the outputs: one tensor, or a list. */
  readonly outputs?: SequenceInput | undefined
  readonly state?: State | undefined
}

/** Gradients of the loss with respect to a sequence's arguments, `inputs` in their layout. */
type SequenceInputGradients<State, Sequence> = {
  readonly inputs: Sequence
  readonly state: State
  readonly variables: VariableMap
}

/** Result of a call on a whole sequence; `outputs` is a list if the inputs were a list. */
export interface SequenceResult<State, Sequence, Training extends boolean = true> {
  readonly outputs: Sequence
  /** Each row's state after its last valid step. */
  readonly state: State
  readonly tape: TapeWhen<Training, CellTape<SequenceOutputGradients<State>, SequenceInputGradients<State, Sequence>>>
}

/** The cell or layer that {@link runSequence} runs. */
export interface SequenceRunner<State> {
  readonly name: string
  readonly dtype: FloatDType
  readonly inputSize: number | undefined
  readonly stateSize: StateSize
  readonly outputSize: number
  build(inputSize: number): void
  zeroGradients(): VariableMap
  pass(sequence: SequenceOperands<State>): SequencePass<State>
}

/**
 * The part that all calls on sequences share, after {@link SEQUENCE_OPTIONS}: checks, one time-major tensor in, the caller's layout out, the tape.
 *
 * @param inputs [T,B,I], or [B,T,I] without `timeMajor`, or a list of T tensors [B,I].
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`, `ERR_EMPTY_SEQUENCE`, `ERR_SEQUENCE_LENGTHS`
 * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`
 */
export function runSequence<State, Sequence extends SequenceInput, Training extends boolean>(
  runner: SequenceRunner<State>,
  inputs: Sequence,
  options: SequenceOptions<State, Training>,
  timeMajor = true,
): SequenceResult<State, Sequence, Training> {
  const action = `run ${runner.name}`
  const { dtype } = runner
  const toTimeMajor = (what: string, name: string, sequence: SequenceInput, columns: Dimension) => {
    if (isList(sequence)) {
      const steps: FloatTensor[] = []
      for (let t = 0; t < sequence.length; t++) {
        const shape = steps[0]?.shape ?? ['B', columns]
        steps.push(checkFloatTensor(what, `${name}[${t}]`, sequence[t], dtype, shape))
      }
      return stackSteps(what, name, steps)
    }
    const tensor = checkFloatTensor(what, name, sequence, dtype, ['T', 'B', columns])
    return timeMajor ? tensor : exchangeTimeAndBatch(tensor)
  }
  const fromTimeMajor = (sequence: FloatTensor): Sequence => {
    if (isList(inputs)) return unstackSteps(sequence) as readonly FloatTensor[] as Sequence
    return (timeMajor ? sequence : exchangeTimeAndBatch(sequence)) as Sequence
  }

  const input = toTimeMajor(action, 'inputs', inputs, runner.inputSize ?? 'I')
  const [time, batch, inputSize] = input.shape as [number, number, number]
  const lengths = checkSequenceLengths(action, options.sequenceLength ?? null, time, batch)
  const givenState = (options.initialState ?? zeroState(runner.stateSize, batch, dtype)) as CellState
  const initialState = checkState(action, givenState, runner.stateSize, batch, dtype, 'initialState') as State
  const kernels = kernelsOf(action, options.backend, dtype)
  runner.build(inputSize)
  const run = new CellRun(dtype, options.training !== false, kernels)
  const pass = runner.pass({ inputs: input, state: initialState, lengths, run })
  const backward = (given: SequenceOutputGradients<State>) => {
    checkOptionNames('run backward', given, ['outputs', 'state'])
    const outputShape = [time, batch, runner.outputSize]
    if (given.outputs !== undefined && isList(given.outputs) !== isList(inputs)) {
      const expected = isList(inputs) ? 'a list, as the inputs were' : 'one tensor, as the inputs were'
      throw codedTypeError(
        'ERR_SEQUENCE_LAYOUT',
        `Cannot run backward as output gradients must be ${expected}: current value is ${isList(given.outputs) ? 'a list' : 'one tensor'}`,
      )
    }
    const outputs =
      given.outputs === undefined
        ? zeros(dtype, outputShape)
        : toTimeMajor('run backward', 'output gradients', given.outputs, runner.outputSize ?? 'H')
    checkFloatTensor('run backward', 'output gradients', outputs, dtype, outputShape)
    const givenState = (given.state ?? zeroState(runner.stateSize, batch, dtype)) as CellState
    const state = checkState('run backward', givenState, runner.stateSize, batch, dtype, 'state gradients') as State
    return (): SequenceInputGradients<State, Sequence> => {
      const variables = runner.zeroGradients()
      const gradients = pass.backward(outputs, state, variables)
      run.finishGradients()
      return { inputs: fromTimeMajor(gradients.inputs), state: gradients.state, variables }
    }
  }
  return {
    outputs: fromTimeMajor(pass.outputs),
    state: pass.state,
    tape: tapeWhen(options.training, backward),
  }
}
