import { checkArguments, checkedElsewhere, checkOptions, MAP, type OptionsOf, where } from '@cudnn-rnn/canonical/rules'
import {
  checkSequenceLengths,
  checkTensor,
  type GradientTape,
  type Operand,
  type ScanResult,
  scan,
  tapeRule,
  type Value,
} from '@cudnn-rnn/ops/executor'
import { CellRun, kernelsOf } from '../cell/cell_run.js'
import { type CellState, checkStateTree, mapState, type StateTree } from '../cell/cell_state.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { asMatrix, StepGraph, withEquations } from './step_graph.js'

const OPTIONS = {
  /** The state before the first step, of values, variables or tensors. Default: zeros. */
  state: checkedElsewhere<StateTree<Operand> | null | undefined>(),
  /** One length in 0..T per row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

interface TensorRnnOptions extends OptionsOf<typeof OPTIONS> {}

const ACTION = 'run tensorRnn'
const RULES = {
  t: tapeRule(),
  cell: where(CELL, 'a cell whose runsOnTensors is true', (cell: RNNCell<CellState>) => cell.runsOnTensors === true),
  variables: MAP,
}

/**
 * `dynamicRnn` on a tape: steps are queued on the executor, such as a GPU, and none waits for a result. For cells with
 * {@link RNNCell.runsOnTensors}, built; `variables` are taken in the place of the cell's own.
 *
 * @param variables by the cell's names for them; those that the tape differentiates have gradients.
 * @param x [T,B,I]
 * @returns `output` [T,B,O], zero past each row's length, and each row's state after its last valid step.
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_SECOND_ORDER`
 * @example
 * ```ts
 * import { openBackend, Variable } from '@cudnn-rnn/rnn'
 * import { tensorRnn, UGRNNCell } from '@cudnn-rnn/rnn/cells'
 * import { grad } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const cell = new UGRNNCell(4)
 * cell.build(3, { seed: 1 })
 * const params = Object.fromEntries(
 *   [...cell.variables].map(([name, value]) => [name, new Variable(backend, backend.tensor(value), name)]),
 * )
 * const x = { data: new Float32Array(5 * 2 * 3).fill(1), shape: [5, 2, 3] } // [T,B,I]
 * const gradients = await grad((t, p: typeof params) =>
 *   t.mean(t.square(tensorRnn(t, cell, new Map(Object.entries(p)), x, { lengths: [5, 2] }).output)),
 * )(params)
 * console.log(gradients['kernel']?.shape, gradients['bias']?.shape) // [7, 8] [8]
 * ```
 */
export function tensorRnn<State extends CellState>(
  t: GradientTape,
  cell: RNNCell<State>,
  variables: ReadonlyMap<string, Operand>,
  x: Operand,
  options: TensorRnnOptions = {},
): ScanResult<StateTree<Value>> {
  checkArguments(ACTION, { t, cell, variables }, RULES)
  const given = checkOptions(ACTION, options, OPTIONS)
  const { dtype, stateSize } = cell
  const value = (name: string, operand: Operand | undefined, shape: readonly (number | string)[]) => {
    const own = t.value(operand as Operand)
    checkTensor(ACTION, name, own.tensor, { dtype, shape })
    return own
  }
  const inputs = value('x', x, ['T', 'B', cell.inputSize ?? 'I'])
  const [time, batch] = inputs.shape as [number, number, number]
  const lengths = checkSequenceLengths(ACTION, given.lengths ?? null, time, batch)
  const matrices = new Map(
    [...cell.variables].map(([name, { shape }]) => {
      return [name, asMatrix(t, value(`variables.get('${name}')`, variables.get(name), shape))] as const
    }),
  )
  const state =
    given.state == null
      ? mapState<number, Value>([stateSize], ([columns]) => zeros(t, [batch, columns]))
      : checkStateTree<Operand, Value>(ACTION, given.state, stateSize, (leaf, path, columns) =>
          value(path, leaf, [batch, columns]),
        )
  const numbers = new Map<number, Value>()
  const number = (given: number) => {
    const known = numbers.get(given) ?? t.value(given)
    numbers.set(given, known)
    return known
  }
  const run = new CellRun(dtype, t.isTraining, kernelsOf(ACTION, undefined, dtype))
  const sequence = { run, variables: matrices, number }
  const equations = withEquations(cell)
  const scanned = {
    step: (inner: GradientTape, input: Value, before: StateTree<Value>) =>
      equations.equations(new StepGraph(inner, sequence), input, before),
  }
  // Zeros past the lengths: a NaN there would reach the gradients of kernels.
  const masked = lengths === null ? inputs : t.maskSequence(inputs, { data: lengths, shape: [batch] })
  return scan(t, scanned, masked, { state, lengths })
}

function zeros(t: GradientTape, shape: readonly number[]): Value {
  return t.recording.newValue(t.backend.zeros(shape), false, t.made)
}
