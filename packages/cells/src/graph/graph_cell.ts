import type { FloatDType } from '@cudnn-rnn/ops'
import type { CellActivation } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { executorActivation } from '../cell/activation.js'
import type { CellRun } from '../cell/cell_run.js'
import type { CellState, StateTree } from '../cell/cell_state.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { type CellStep, RNNCell } from '../cell/rnn_cell.js'
import type { EquationCell, GraphStep, StepGraph } from './step_graph.js'
import { StepProgram } from './step_program.js'

/** Programs that a cell keeps: batches have few sizes. */
const MOST_PROGRAMS = 8

/** A cell that states its equations as operations of a {@link StepGraph}, from which its backward follows. */
export abstract class GraphCell<State extends CellState> extends RNNCell<State> implements EquationCell {
  readonly #onExecutors: boolean
  /** By the shapes of steps. */
  readonly #programs = new Map<string, StepProgram>()

  /** @param activations that options of the cell choose. */
  constructor(name: string, dtype: FloatDType | undefined, activations: readonly CellActivation[] = []) {
    super(name, dtype)
    this.#onExecutors = activations.every((each) => executorActivation(each) !== undefined)
  }

  override get runsOnTensors(): boolean {
    return this.#onExecutors
  }

  /** Output and next state of `input` [B,I] and `state`, which has the structure of `stateSize`. */
  abstract equations(graph: StepGraph, input: Value, state: StateTree<Value>): GraphStep

  override step(input: FloatTensor, state: State, run: CellRun): CellStep<State> {
    const { variables } = this
    const key = `${run.training} ${input.shape}`
    let program = this.#programs.get(key)
    if (program === undefined) {
      if (this.#programs.size === MOST_PROGRAMS) this.#programs.clear()
      program = new StepProgram(run, input, state, variables, (graph, x, before) => this.equations(graph, x, before))
      this.#programs.set(key, program)
    }
    return program.step(run, input, state, variables) as CellStep<State>
  }
}
