import {
  checkArguments,
  checkedElsewhere,
  checkOptionNames,
  checkOptions,
  codedRangeError,
  listOf,
  type OptionsOf,
  required,
} from '@cudnn-rnn/canonical/rules'
import { checkIsHostTensor } from '@cudnn-rnn/ops/executor'
import { type CellState, zeroState } from '../cell/cell_state.js'
import { type CellTape, type TapeWhen, tapeWhen } from '../cell/cell_tape.js'
import { changeTogether, type VariableMap } from '../cell/cell_variables.js'
import { addTensor, type FloatTensor } from '../cell/float_tensor.js'
import { CELL, CELL_CALL_OPTIONS, type CellCallOptions, type RNNCell, type SequencePass } from '../cell/rnn_cell.js'
import { inScope, joinScopes, scopedName } from '../cell/variable_scopes.js'
import { joinColumns, takeColumns } from './sequence_layout.js'
import { LAYOUT_OPTIONS, LENGTH_OPTIONS, runSequence, type SequenceRunner } from './sequence_run.js'
import { reversedPass } from './fused_wrapper.js'
import { unrolled } from './unroll.js'

/** Options of {@link stackBidirectionalDynamicRnn}; one state per layer and direction, zeros by default. */
interface StackBidirectionalOptions<State extends CellState, Training extends boolean = true>
  extends CellCallOptions<Training>,
    OptionsOf<typeof LENGTH_OPTIONS>,
    OptionsOf<typeof LAYOUT_OPTIONS> {
  /** Initial states of the forward cells, one for each layer. Default: zeros. */
  readonly initialStatesFw?: readonly State[] | undefined
  /** The backward cells' initial states. */
  readonly initialStatesBw?: readonly State[] | undefined
}

/** Gradients of the loss with respect to the results; each may be left out. */
interface BidirectionalOutputGradients<State extends CellState> {
  readonly outputs?: FloatTensor | undefined
  readonly statesFw?: readonly State[] | undefined
  readonly statesBw?: readonly State[] | undefined
}

/**
 * Gradients of the loss with respect to inputs, initial states, and variables by their names in TensorFlow's scopes.
 */
type BidirectionalGradients<State extends CellState> = {
  readonly inputs: FloatTensor
  readonly statesFw: readonly State[]
  readonly statesBw: readonly State[]
  /** `cell_<layer>/bidirectional_rnn/<fw|bw>/<name of cell>/<variable>` */
  readonly variables: VariableMap
}

type BidirectionalResult<State extends CellState, Training extends boolean = true> = {
  /** The last layer's two outputs side by side: forward columns, then backward ones. */
  readonly outputs: FloatTensor
  readonly statesFw: readonly State[]
  readonly statesBw: readonly State[]
  readonly tape: TapeWhen<Training, CellTape<BidirectionalOutputGradients<State>, BidirectionalGradients<State>>>
}

const CELLS = listOf(CELL)
const STATES = checkedElsewhere<readonly CellState[] | undefined>()
const OPTIONS = {
  ...CELL_CALL_OPTIONS,
  ...LENGTH_OPTIONS,
  ...LAYOUT_OPTIONS,
  initialStatesFw: STATES,
  initialStatesBw: STATES,
}

/**
 * TensorFlow's `stack_bidirectional_dynamic_rnn`: layers of a forward and a backward cell, each fed both outputs of the
 * layer below, joined on the last axis.
 *
 * @param inputs [B,T,I], or [T,B,I] with `timeMajor`.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_ARGUMENT`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
 * @throws RangeError `ERR_INVALID_OPTION` for lists of cells that are empty, differ in length, mix dtypes or have a cell
 *   twice, `ERR_CELL_BUILT`, `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`
 * @example
 * ```ts
 * import { LSTMCell, stackBidirectionalDynamicRnn } from '@cudnn-rnn/rnn/cells'
 *
 * const inputs = { data: new Float32Array(2 * 5 * 3).fill(1), shape: [2, 5, 3] } // [B,T,I]
 * const forward = [new LSTMCell(4), new LSTMCell(4)]
 * const backward = [new LSTMCell(4), new LSTMCell(4)]
 * const { outputs, statesFw } = stackBidirectionalDynamicRnn(forward, backward, inputs)
 * console.log(outputs.shape, statesFw.length) // [2, 5, 8] 2
 * ```
 */
export function stackBidirectionalDynamicRnn<State extends CellState, Training extends boolean = true>(
  cellsFw: readonly RNNCell<State>[],
  cellsBw: readonly RNNCell<State>[],
  inputs: FloatTensor,
  options: StackBidirectionalOptions<State, Training> = {},
): BidirectionalResult<State, Training> {
  const { initialStatesFw, initialStatesBw, sequenceLength, backend, timeMajor, training } = checkOptions<
    StackBidirectionalOptions<CellState, boolean>
  >('run stackBidirectionalDynamicRnn', options, OPTIONS)
  const { cellsFw: own, cellsBw: reversed } = checkArguments(
    'run stackBidirectionalDynamicRnn',
    { cellsFw, cellsBw },
    { cellsFw: CELLS, cellsBw: CELLS },
  )
  const runner = bidirectionalStack(own, reversed)
  const { shape } = checkIsHostTensor('run stackBidirectionalDynamicRnn', 'inputs', inputs)
  const batch = shape[timeMajor ? 1 : 0] ?? 0
  /** Both lists as one state [fw, bw], with zeros for one that was left out. */
  const pair = (fw: readonly State[] | undefined, bw: readonly State[] | undefined): StatePair<State> | undefined => {
    if (fw === undefined && bw === undefined) return undefined
    return [fw ?? zeroStates(own, batch), bw ?? zeroStates(reversed, batch)]
  }
  const initialState = pair(
    initialStatesFw as readonly State[] | undefined,
    initialStatesBw as readonly State[] | undefined,
  )
  const result = runSequence(
    runner,
    inputs,
    { initialState, sequenceLength, training: training !== false, backend },
    timeMajor ?? false,
  )
  const backward = (given: BidirectionalOutputGradients<State>) => {
    checkOptionNames('run backward', given, ['outputs', 'statesFw', 'statesBw'])
    const gradients = required(result.tape, 'a backward exists only for a training run, which has a tape').gradients({
      outputs: given.outputs,
      state: pair(given.statesFw, given.statesBw),
    })
    const [statesFw, statesBw] = gradients.state
    const { inputs, variables } = gradients
    return (): BidirectionalGradients<State> => ({ inputs, statesFw, statesBw, variables })
  }
  const [statesFw, statesBw] = result.state
  return { outputs: result.outputs, statesFw, statesBw, tape: tapeWhen(training as Training | undefined, backward) }
}

function zeroStates<State extends CellState>(cells: readonly RNNCell<State>[], batch: number): State[] {
  return cells.map((cell) => zeroState(cell.stateSize, batch, cell.dtype) as State)
}

type StatePair<State> = readonly [fw: readonly State[], bw: readonly State[]]

function bidirectionalStack<State extends CellState>(
  cellsFw: readonly RNNCell<State>[],
  cellsBw: readonly RNNCell<State>[],
): SequenceRunner<StatePair<State>> {
  if (cellsFw.length === 0 || cellsFw.length !== cellsBw.length) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot run stackBidirectionalDynamicRnn as cellsFw and cellsBw must be lists of one length >= 1: current lengths are ${cellsFw.length} and ${cellsBw.length}`,
      { option: 'cellsBw', value: cellsBw.length },
    )
  }
  const dtypes = [...new Set([...cellsFw, ...cellsBw].map(({ dtype }) => dtype))]
  if (dtypes.length !== 1) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot run stackBidirectionalDynamicRnn as all cells must have one dtype: current dtypes are ${dtypes.join(', ')}`,
      { option: 'cellsBw' },
    )
  }
  const cells = [...cellsFw, ...cellsBw]
  if (new Set(cells).size !== cells.length) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      'Cannot run stackBidirectionalDynamicRnn as cellsFw and cellsBw must have a different cell for each layer and direction: current lists have one cell twice',
      { option: 'cellsBw' },
    )
  }
  const layers = cellsFw.map((fw, layer) => ({ fw, bw: cellsBw[layer] }))
  const scopeOf = (layer: number, direction: 'fw' | 'bw') =>
    joinScopes(`cell_${layer}/bidirectional_rnn/${direction}`, layers[layer][direction].scope)
  const scoped = layers.flatMap(({ fw, bw }, layer) => [
    { scope: scopeOf(layer, 'fw'), cell: fw },
    { scope: scopeOf(layer, 'bw'), cell: bw },
  ])
  return {
    name: 'stack_bidirectional_rnn',
    dtype: cellsFw[0].dtype,
    inputSize: cellsFw[0].inputSize,
    stateSize: [cellsFw.map(({ stateSize }) => stateSize), cellsBw.map(({ stateSize }) => stateSize)],
    outputSize: cellsFw[cellsFw.length - 1].outputSize + cellsBw[cellsBw.length - 1].outputSize,
    build(inputSize) {
      changeTogether(cells, () => {
        let columns = inputSize
        for (const [layer, { fw, bw }] of layers.entries()) {
          // Different seeds: directions with equal initial weights would stay equal.
          fw.build(columns, { seed: 2 * layer })
          bw.build(columns, { seed: 2 * layer + 1 })
          columns = fw.outputSize + bw.outputSize
        }
      })
    },
    zeroGradients: () =>
      new Map(
        scoped.flatMap(({ scope, cell }) =>
          [...cell.zeroGradients()].map(([name, value]) => [scopedName(scope, name), value] as const),
        ),
      ),
    pass({ inputs, state: [statesFw, statesBw], lengths, run }): SequencePass<StatePair<State>> {
      const passes: { fw: SequencePass<State>; bw: SequencePass<State> }[] = []
      let sequence = inputs
      for (const [layer, { fw, bw }] of layers.entries()) {
        const both = {
          fw: unrolled(fw).pass({ inputs: sequence, state: statesFw[layer], lengths, run }),
          bw: reversedPass(unrolled(bw), { inputs: sequence, state: statesBw[layer], lengths, run }),
        }
        passes.push(both)
        sequence = joinColumns(both.fw.outputs, both.bw.outputs)
      }
      return {
        outputs: sequence,
        state: [passes.map(({ fw }) => fw.state), passes.map(({ bw }) => bw.state)],
        backward(dOutputs, [dStatesFw, dStatesBw], variableGradients) {
          const fwGradients: State[] = []
          const bwGradients: State[] = []
          let gradient = dOutputs
          for (let layer = layers.length - 1; layer >= 0; layer--) {
            const { fw, bw } = layers[layer]
            const own = (direction: 'fw' | 'bw') => inScope(variableGradients, scopeOf(layer, direction))
            const left = takeColumns(gradient, 0, fw.outputSize)
            const right = takeColumns(gradient, fw.outputSize, bw.outputSize)
            const below = passes[layer].fw.backward(left, dStatesFw[layer], own('fw'))
            const belowBw = passes[layer].bw.backward(right, dStatesBw[layer], own('bw'))
            addTensor(below.inputs, belowBw.inputs)
            gradient = below.inputs
            fwGradients.unshift(below.state)
            bwGradients.unshift(belowBw.state)
          }
          return { inputs: gradient, state: [fwGradients, bwGradients] }
        },
      }
    },
  }
}
