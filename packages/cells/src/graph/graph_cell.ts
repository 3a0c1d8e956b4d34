import type { FloatDType } from '@cudnn-rnn/ops'
import type { CellActivation, FloatArray } from '@cudnn-rnn/canonical'
import { type Value, addRow, type GradientTape, handleOf, Program, placeOf, Recording } from '@cudnn-rnn/ops/executor'
import { entryOf } from '@cudnn-rnn/canonical/rules'
import { executorActivation } from '../cell/activation.js'
import type { CellRun } from '../cell/cell_run.js'
import { type CellState, type StateTree, leavesOf, mapState } from '../cell/cell_state.js'
import type { FloatTensor } from '../cell/float_tensor.js'
import { type CellStep, RNNCell } from '../cell/rnn_cell.js'
import { type EquationCell, type GraphStep, type StepGraph, columnsOf, rowsOf } from './step_graph.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { ProgramGraph, type StepContext } from './program_graph.js'

type Equations = (graph: ProgramGraph, input: Value, state: StateTree<Value>) => GraphStep

/** The place of a tensor among the arrays of a step. */
interface Place {
  readonly place: number
  readonly shape: readonly number[]
}

/**
 * The step of a cell in host memory: its equations are recorded on a tape once, with the backward that follows from them, and
 * each step of these shapes replays that.
 */
export class StepProgram {
  readonly #program: Program<StepContext>
  /** Input, tensors of the state and variables, in their order. */
  readonly #given: readonly number[]
  readonly #output: Place
  readonly #state: StateTree<Place>
  /** Gradients of the output and of the next state, then of the input and of the state. */
  readonly #seeds: readonly number[] = []
  readonly #inputGradient: Place | undefined
  readonly #stateGradients: StateTree<Place> | undefined
  /** Variables whose gradients are computed at each step. */
  readonly #sums: readonly (readonly [string, number])[] = []

  /** @param run one as those that the steps will have. */
  constructor(run: CellRun, input: FloatTensor, state: CellState, variables: VariableMap, equations: Equations) {
    const program = new Program<StepContext>(run.dtype)
    this.#program = program
    const given = (name: string, shape: readonly number[]) => ({ name, value: program.given(shape) })
    const own = [input, ...leavesOf(state)].map(({ shape }) => given('x', shape))
    // A kernel of several dimensions is a matrix, as it is on other tapes.
    const named = [...variables].map(([name, tensor]) =>
      given(name, tensor.shape.length > 2 ? [rowsOf(tensor), columnsOf(tensor)] : tensor.shape),
    )
    this.#given = [...own, ...named].map(({ value }) => placeOf(value))
    const recording = new Recording(program.backend, [...own, ...named], run.training)
    const values = new Map<string, Value>()
    const used = new Set<string>()
    const { output, state: next } = handleOf(recording).scope((t: GradientTape) => {
      for (const variable of named) values.set(variable.name, t.value(variable))
      const graph = new ProgramGraph(t, run, values, program, used)
      let leaf = 1
      const before = mapState<FloatTensor, Value>([state], () => t.value(own[leaf++]))
      return equations(graph, t.value(own[0]), before)
    })
    const placed = ({ tensor, shape }: Value): Place => ({ place: placeOf(tensor), shape })
    this.#output = placed(output)
    this.#state = mapState<Value, Place>([next], ([value]) => placed(value))
    if (!run.training) return
    program.beginSecond()
    const seeds = [output, ...leavesOf(next)].map((value) => [value, program.given(value.shape)] as const)
    this.#seeds = seeds.map(([, tensor]) => placeOf(tensor))
    recording.passBack(seeds)
    const [ofInput, ...ofState] = own.map(({ value, name }) => {
      const [tensor] = recording.take([], [{ name, value }])
      return { place: placeOf(tensor), shape: value.shape }
    })
    this.#inputGradient = ofInput
    let leaf = 0
    this.#stateGradients = mapState<FloatTensor, Place>([state], () => ofState[leaf++])
    this.#sums = named.flatMap((variable) =>
      used.has(variable.name) ? [[variable.name, placeOf(recording.take([], [variable])[0])] as const] : [],
    )
  }

  step(run: CellRun, input: FloatTensor, state: CellState, variables: VariableMap): CellStep<CellState> {
    const program = this.#program
    const arrays = program.arrays()
    const context: StepContext = { run, steps: new Map(), gradients: variables }
    let k = 0
    // A copy, as the caller may overwrite its arrays before the backward.
    for (const { data } of [input, ...leavesOf(state)]) arrays[this.#given[k++]] = run.training ? data.slice() : data
    for (const { data } of variables.values()) arrays[this.#given[k++]] = data
    program.run('first', arrays, context)
    const copy = ({ place, shape }: Place): FloatTensor => ({ data: arrays[place].slice(), shape })
    return {
      output: copy(this.#output),
      state: mapState<Place, FloatTensor>([this.#state], ([leaf]) => copy(leaf)),
      backward: (dOutput, dState, gradients) => {
        context.gradients = gradients
        for (const [k, { data }] of [dOutput, ...leavesOf(dState)].entries()) arrays[this.#seeds[k]] = data
        program.run('second', arrays, context)
        for (const [name, place] of this.#sums) addTo(entryOf(gradients, name).data, arrays[place])
        return {
          input: copy(this.#inputGradient as Place),
          state: mapState<Place, FloatTensor>([this.#stateGradients as StateTree<Place>], ([leaf]) => copy(leaf)),
        }
      },
    }
  }
}

function addTo(sum: FloatArray, gradient: FloatArray): void {
  addRow(sum, 0, gradient, 0, sum.length)
}

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
