import { type CellState, mapState, type StateTree } from './cell_state.js'
import type { FloatTensor } from './float_tensor.js'
import type { GraphStep } from './graph_cell.js'
import type { RNNCell } from './rnn_cell.js'
import { addGradient, addStateGradients, GraphValue, type StepGraph, stateGradients } from './step_graph.js'
import { inScope } from './variable_scopes.js'

/**
 * A step of another cell as an operation.
 *
 * @param scope of the inner cell's variables inside the outer cell's.
 */
export function innerStep(
  graph: StepGraph,
  cell: RNNCell<CellState>,
  scope: string,
  input: GraphValue,
  state: StateTree<GraphValue>,
): GraphStep {
  const given = mapState<GraphValue, FloatTensor>([state], ([value]) => value)
  const step = cell.step(input, given, graph.run)
  const output = new GraphValue(step.output.data, step.output.shape)
  const next = mapState<FloatTensor, GraphValue>([step.state], ([leaf]) => new GraphValue(leaf.data, leaf.shape))
  graph.record((variables) => {
    const dOutput = { data: output.gradient, shape: output.shape }
    const below = step.backward(dOutput, stateGradients(next), inScope(variables, scope))
    addGradient(input, below.input)
    addStateGradients(state, below.state)
  })
  return { output, state: next }
}
