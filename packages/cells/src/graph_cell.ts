import type { CellRun } from './cell_run.js'
import { type CellState, mapState, type StateTree } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import { copyTensor, type FloatTensor } from './float_tensor.js'
import { type CellStep, RNNCell } from './rnn_cell.js'
import { addGradient, addStateGradients, type GraphValue, StepGraph, stateGradients, stateOf } from './step_graph.js'

/** The results of a cell's equations. */
export interface GraphStep {
  readonly output: GraphValue
  readonly state: StateTree<GraphValue>
}

/** A cell that states its equations as operations of a {@link StepGraph}, from which its backward follows. */
export abstract class GraphCell<State extends CellState> extends RNNCell<State> {
  /** Output and next state of `input` [B,I] and `state`, which has the structure of `stateSize`. */
  protected abstract equations(graph: StepGraph, input: GraphValue, state: StateTree<GraphValue>): GraphStep

  override step(input: FloatTensor, state: State, run: CellRun): CellStep<State> {
    const graph = new StepGraph(run, this.variables)
    const x = graph.input(input)
    const before = mapState<FloatTensor, GraphValue>([state], ([leaf]) => graph.input(leaf))
    const after = this.equations(graph, x, before)
    return {
      output: copyTensor(after.output),
      state: stateOf(after.state) as State,
      backward(dOutput: FloatTensor, dState: State, variables: VariableMap) {
        addGradient(after.output, dOutput)
        addStateGradients(after.state, dState)
        graph.backward(variables)
        return { input: { data: x.gradient, shape: x.shape }, state: stateGradients(before) as State }
      },
    }
  }
}
