import { checkArguments, FLAG, fields, listOf, MAP, nullable, OBJECT, oneOf, where } from '@cudnn-rnn/arguments'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { checkSequenceLengths, checkTensor } from '@cudnn-rnn/executor-kit'
import { type CellState, mapState, type StateTree } from './cell_state.js'
import { codedRangeError } from './coded_error.js'
import { CELL, type RNNCell } from './rnn_cell.js'
import { type GraphStep, withEquations } from './step_graph.js'
import { TensorGraph } from './tensor_graph.js'
import type { TensorValue } from './tensor_value.js'

/** Arguments of {@link tensorRnn}. */
export interface TensorRnnArguments {
  readonly backend: Backend
  /** The cell's variables by its own names, where the executor has them. */
  readonly variables: ReadonlyMap<string, TensorLike>
  /** [T,B,I] */
  readonly inputs: TensorLike
  /** Tensors in the order of the state's, or null for zeros. */
  readonly initialState: readonly TensorLike[] | null
  /** [B] */
  readonly sequenceLength: Int32Array | null
  readonly training: boolean
  /** Whether the final state is returned. */
  readonly keepsState: boolean
}

/** Result of {@link tensorRnn}; the tensors are the caller's. */
export interface TensorRnnResult {
  /** [T,B,O] */
  readonly outputs: BackendTensor
  /** Each row's state after its last valid step; empty without `keepsState`. */
  readonly state: readonly BackendTensor[]
  /** Gradients of the inputs and, in the order of `variables`, of the variables. Called at most once, in training. */
  backward(outputGradient: BackendTensor): {
    readonly inputs: BackendTensor
    readonly variables: readonly BackendTensor[]
  }
  /** Disposes everything else. */
  dispose(): void
}

const ACTION = 'run tensorRnn'
const RULES = {
  cell: where(CELL, 'a cell whose runsOnTensors is true', (cell: RNNCell<CellState>) => cell.runsOnTensors === true),
  backend: fields({ ops: OBJECT, dtype: oneOf(['float32', 'float64']) }, 'what openBackend() resolves to'),
  variables: MAP,
  initialState: nullable(listOf(OBJECT)),
  training: FLAG,
  keepsState: FLAG,
}

/**
 * `dynamicRnn` on the tensors of an executor, such as a GPU's: steps are queued and none waits for a result. For cells with
 * {@link RNNCell.runsOnTensors}, built; `variables` are taken in the place of the cell's own.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_SEQUENCE_LENGTHS`
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_EMPTY_SEQUENCE`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { tensorRnn, UGRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const backend = await openBackend('reference')
 * const cell = new UGRNNCell(4)
 * cell.build(3, { seed: 1 })
 * const inputs = { data: new Float32Array(5 * 2 * 3).fill(1), shape: [5, 2, 3] } // [T,B,I]
 * const { variables } = cell
 * const mode = { sequenceLength: null, training: false, keepsState: true }
 * const result = tensorRnn(cell, { backend, variables, inputs, initialState: null, ...mode })
 * console.log(result.outputs.shape, result.state.map(({ shape }) => shape)) // [5, 2, 4] [[2, 4]]
 * result.dispose()
 * ```
 */
export function tensorRnn<State extends CellState>(cell: RNNCell<State>, given: TensorRnnArguments): TensorRnnResult {
  checkArguments(ACTION, { arguments: given }, { arguments: OBJECT })
  const { backend, variables, initialState, training, keepsState } = given
  checkArguments(ACTION, { cell, backend, variables, initialState, training, keepsState }, RULES)
  const { dtype } = cell
  const inputs = checkTensor(ACTION, 'inputs', given.inputs, { dtype, shape: ['T', 'B', cell.inputSize ?? 'I'] })
  const [time, batch, inputSize] = inputs.shape as [number, number, number]
  if (time === 0) {
    throw codedRangeError(
      'ERR_EMPTY_SEQUENCE',
      `Cannot ${ACTION} as there must be at least one step: current number is 0`,
    )
  }
  const lengths = checkSequenceLengths(ACTION, given.sequenceLength, time, batch)
  for (const [name, { shape }] of cell.variables) {
    checkTensor(ACTION, `variables.get('${name}')`, variables.get(name) as TensorLike, { dtype, shape })
  }
  const graph = TensorGraph.open(backend, variables, training)
  try {
    const x = graph.input(inputs)
    const steps = unstacked(graph, graph.withoutPadding(x, lengths), [time, batch, inputSize])
    const outputs: TensorValue[] = []
    let state = beginning(graph, cell, batch, initialState)
    for (let t = 0; t < time; t++) {
      const step = withEquations(cell).equations(graph, steps[t], state)
      outputs.push(step.output)
      state = running(graph, step, state, t, lengths)
      if (!training) graph.releaseAllBut([...steps.slice(t + 1), ...outputs, ...leavesOf(state)])
    }
    const stacked = graph.withoutPadding(stackedSteps(graph, outputs), lengths)
    // Copies: the backward reads the values themselves.
    const kept = keepsState ? leavesOf(state).map(({ tensor }) => graph.constant(tensor)) : []
    return {
      outputs: graph.taken(stacked),
      state: kept.map((value) => graph.taken(value)),
      backward(outputGradient) {
        stacked.addGradient(backend.ops, outputGradient)
        graph.backward()
        const inputGradient = x.takeGradient() ?? backend.zeros(x.shape)
        const variableGradients: BackendTensor[] = []
        try {
          for (const [name, { shape }] of variables) variableGradients.push(graph.variableGradient(name, shape))
        } catch (error) {
          for (const gradient of [inputGradient, ...variableGradients]) gradient.dispose()
          throw error
        }
        return { inputs: inputGradient, variables: variableGradients }
      },
      dispose: () => graph.dispose(),
    }
  } catch (error) {
    graph.dispose()
    throw error
  }
}

/** The steps [B,I] of a sequence [T,B,I]. */
function unstacked(graph: TensorGraph, x: TensorValue, [time, batch, columns]: readonly [number, number, number]) {
  const row = graph.reshaped(x, [1, time * batch * columns])
  return graph.split(row, time).map((step) => graph.reshaped(step, [batch, columns]))
}

/** The sequence of steps [B,O]. */
function stackedSteps(graph: TensorGraph, steps: readonly TensorValue[]): TensorValue {
  const [{ shape, size }] = steps
  const row = graph.concat(steps.map((step) => graph.reshaped(step, [1, size])))
  return graph.reshaped(row, [steps.length, ...shape])
}

function beginning(
  graph: TensorGraph,
  { stateSize, dtype }: Pick<RNNCell<CellState>, 'stateSize' | 'dtype'>,
  batch: number,
  given: readonly TensorLike[] | null,
): StateTree<TensorValue> {
  let next = 0
  return mapState<number, TensorValue>([stateSize], ([columns], path) => {
    const shape = [batch, columns]
    if (given === null) return graph.zeros(shape)
    return graph.constant(checkTensor(ACTION, path, given[next++], { dtype, shape }))
  })
}

/** The new state in the rows that have step t, the old one in those that have ended. */
function running(
  graph: TensorGraph,
  step: GraphStep<TensorValue>,
  before: StateTree<TensorValue>,
  t: number,
  lengths: Int32Array | null,
): StateTree<TensorValue> {
  if (lengths === null || lengths.every((length) => t < length)) return step.state
  return mapState<TensorValue, TensorValue>([step.state, before], ([after, standing]) => {
    const [rows, columns] = [after.shape[0], elementCount(after.shape.slice(1))]
    return graph.mix(
      graph.rowMask((row) => t < lengths[row], rows, columns),
      after,
      standing,
    )
  })
}

function leavesOf(state: StateTree<TensorValue>): TensorValue[] {
  const leaves: TensorValue[] = []
  mapState<TensorValue, void>([state], ([leaf]) => void leaves.push(leaf))
  return leaves
}
