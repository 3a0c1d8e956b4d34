import type { FloatDType } from '@cudnn-rnn/ops'
import type { CellActivation } from '@cudnn-rnn/canonical'
import { executorActivation } from './activation.js'
import type { CellRun } from './cell_run.js'
import { type CellState, mapState, type StateTree } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import { copyTensor, type FloatTensor } from './float_tensor.js'
import { HostGraph } from './host_graph.js'
import { type CellStep, RNNCell } from './rnn_cell.js'
import type { EquationCell, GraphStep, GraphValue, StepGraph } from './step_graph.js'
import { addGradient, addStateGradients, type HostValue, stateGradients, stateOf } from './step_tape.js'

/** A cell that states its equations as operations of a {@link StepGraph}, from which its backward follows. */
export abstract class GraphCell<State extends CellState> extends RNNCell<State> implements EquationCell {
  readonly #onExecutors: boolean

  /** @param activations that options of the cell choose. */
  constructor(name: string, dtype: FloatDType | undefined, activations: readonly CellActivation[] = []) {
    super(name, dtype)
    this.#onExecutors = activations.every((each) => executorActivation(each) !== undefined)
  }

  override get runsOnTensors(): boolean {
    return this.#onExecutors
  }

  /** Output and next state of `input` [B,I] and `state`, which has the structure of `stateSize`. */
  abstract equations<Value extends GraphValue>(
    graph: StepGraph<Value>,
    input: Value,
    state: StateTree<Value>,
  ): GraphStep<Value>

  override step(input: FloatTensor, state: State, run: CellRun): CellStep<State> {
    const graph = new HostGraph(run, this.variables)
    const { tape } = graph
    const x = tape.input(input)
    const before = mapState<FloatTensor, HostValue>([state], ([leaf]) => tape.input(leaf))
    const after = this.equations(graph, x, before)
    return {
      output: copyTensor(after.output),
      state: stateOf(after.state) as State,
      backward(dOutput: FloatTensor, dState: State, variables: VariableMap) {
        addGradient(after.output, dOutput)
        addStateGradients(after.state, dState)
        tape.backward(variables)
        return { input: { data: x.gradient, shape: x.shape }, state: stateGradients(before) as State }
      },
    }
  }
}
