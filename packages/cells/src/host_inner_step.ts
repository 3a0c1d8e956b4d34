import { type CellState, mapState, type StateTree } from './cell_state.js'
import type { FloatTensor } from './float_tensor.js'
import type { RNNCell } from './rnn_cell.js'
import type { GraphStep } from './step_graph.js'
import { addGradient, addStateGradients, HostValue, type StepTape, stateGradients } from './step_tape.js'
import { inScope } from './variable_scopes.js'

/**
 * A step of another cell as an operation.
 *
 * @param scope of the inner cell's variables inside the outer cell's.
 */
export function innerStep(
  tape: StepTape,
  cell: RNNCell<CellState>,
  scope: string,
  input: HostValue,
  state: StateTree<HostValue>,
): GraphStep<HostValue> {
  const given = mapState<HostValue, FloatTensor>([state], ([value]) => value)
  const step = cell.step(input, given, tape.run)
  const output = new HostValue(step.output.data, step.output.shape)
  const next = mapState<FloatTensor, HostValue>([step.state], ([leaf]) => new HostValue(leaf.data, leaf.shape))
  tape.record((variables) => {
    const dOutput = { data: output.gradient, shape: output.shape }
    const below = step.backward(dOutput, stateGradients(next), inScope(variables, scope))
    addGradient(input, below.input)
    addStateGradients(state, below.state)
  })
  return { output, state: next }
}
