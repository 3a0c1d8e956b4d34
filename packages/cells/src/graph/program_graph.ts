import type { CellActivation, FloatArray } from '@cudnn-rnn/canonical'
import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import {
  elementwiseFunction,
  fillRows,
  type GradientTape,
  matrix,
  type Program,
  transposed,
  type Value,
} from '@cudnn-rnn/ops/executor'
import { addToBiasGradient, type CellRun } from '../cell/cell_run.js'
import { type CellState, leavesOf, mapState, type StateTree } from '../cell/cell_state.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { type FloatTensor, newArray } from '../cell/float_tensor.js'
import type { CellStep, RNNCell } from '../cell/rnn_cell.js'
import { inScope } from '../cell/variable_scopes.js'
import { columnsOf, type GraphStep, rowsOf, StepGraph, type TimeGateNames } from './step_graph.js'

/** Shared by the commands of one step. */
export interface StepContext {
  readonly run: CellRun
  /** The steps of inner cells, by their operation. */
  readonly steps: Map<object, CellStep<CellState>>
  /** Gradients of the cell's variables, in the backward. */
  gradients: VariableMap
}

interface Computation {
  readonly name: string
  /** The operands that have gradients. */
  readonly operands: readonly Value[]
  /** Read by both computations, besides the operands. */
  readonly constants?: readonly BackendTensor[]
  readonly shapes: readonly (readonly number[])[]
  readonly forward: (results: readonly FloatArray[], read: readonly FloatArray[], context: StepContext) => unknown
  /** Adds to the gradients of the operands; `read` has operands, constants and results. */
  readonly backward: (
    gradients: readonly FloatArray[],
    given: readonly (FloatArray | undefined)[],
    read: readonly FloatArray[],
    context: StepContext,
  ) => unknown
}

/**
 * The operations of a step on the tape of a {@link Program}: in host memory with the products of the run's executor. The gradient of
 * a kernel is one product of all steps, at the end.
 */
export class ProgramGraph extends StepGraph {
  readonly #program: Program<StepContext>
  readonly #variables: ReadonlyMap<string, Value>
  readonly #used: Set<string>

  /** @param used receives the variables whose gradients are the tape's. */
  constructor(
    ...[t, run, variables, program, used]: [
      t: GradientTape,
      run: CellRun,
      variables: ReadonlyMap<string, Value>,
      program: Program<StepContext>,
      used: Set<string>,
    ]
  ) {
    super(t, { run, variables, number: (value) => t.value(value) })
    this.#program = program
    this.#variables = variables
    this.#used = used
  }

  /** z [B,N] is the sum of the products of each operand with its own rows of K: nothing is concatenated. */
  override linear(operands: readonly Value[], kernelName: string, biasName?: string): Value {
    const kernel = entryOf(this.#variables, kernelName)
    const bias = biasName === undefined ? undefined : entryOf(this.#variables, biasName)
    const columns = columnsOf(kernel)
    const rows = rowsOf(operands[0])
    const count = operands.length
    const widths = operands.map(columnsOf)
    const begins = widths.map((_, k) => widths.slice(0, k).reduce((sum, width) => sum + width, 0))
    return this.#computed({
      ...{ name: 'linear', operands, shapes: [[...operands[0].shape.slice(0, -1), columns]] },
      constants: bias === undefined ? [kernel.tensor] : [kernel.tensor, bias.tensor],
      forward([z], read, { run }) {
        if (bias !== undefined) fillRows(z, rows, columns, read[count + 1], 0)
        for (const [k, width] of widths.entries()) {
          const weights = matrix(read[count], columns, begins[k] * columns)
          run.products.addProduct(matrix(z, columns), matrix(read[k], width), weights, rows, columns, width)
        }
      },
      backward(gradients, [given], read, { run, gradients: sums }) {
        // A copy, which waits for the other steps.
        const dz = (given as FloatArray).slice()
        for (const [k, width] of widths.entries()) {
          const weights = transposed(matrix(read[count], columns, begins[k] * columns))
          run.products.addProduct(matrix(gradients[k], width), matrix(dz, columns), weights, rows, width, columns)
          run.addToKernelGradient(entryOf(sums, kernelName), begins[k], width, read[k], dz)
        }
        if (biasName !== undefined) addToBiasGradient(entryOf(sums, biasName), dz)
      },
    })[0]
  }

  override masked(x: Value, shape: readonly number[], draw: (run: CellRun) => FloatArray): Value {
    const [mask] = this.#program.command([shape], [], ([to], _, __, { run }) => to.set(draw(run)))
    return this.t.multiply(x, this.t.recording.newValue(mask, false, this.t.made))
  }

  override timeGate(time: Value, { period, phase, ratioOn }: TimeGateNames, leak: number, trainsRatio: boolean): Value {
    const names = [period, phase, ratioOn]
    const constants = names.map((name) => entryOf(this.#variables, name).tensor)
    const units = columnsOf(constants[0])
    const gate = ([period, phase, ratioOn]: readonly FloatArray[]) => ({ period, phase, ratioOn })
    return this.#computed({
      ...{ name: 'timeGate', operands: [time], constants, shapes: [[rowsOf(time), units]] },
      forward([open], [times, ...variables]) {
        openTimeGate(open, times, gate(variables), leak)
      },
      backward([dTime], [dOpen], [times, ...variables], { gradients }) {
        const sums = gate(names.map((name) => entryOf(gradients, name).data))
        const trained = trainsRatio ? sums : { ...sums, ratioOn: sums.ratioOn.slice() }
        timeGateGradients(dTime, trained, times, gate(variables), dOpen as FloatArray, leak)
      },
    })[0]
  }

  override innerStep(cell: RNNCell<CellState>, scope: string, input: Value, state: StateTree<Value>): GraphStep {
    const { dtype } = this.run
    const batch = rowsOf(input)
    const operands = [input, ...leavesOf(state)]
    const sizes = [cell.outputSize, ...leavesOf(cell.stateSize)]
    const tensor = (data: FloatArray | undefined, columns: number): FloatTensor => ({
      data: data ?? newArray(dtype, batch * columns),
      shape: [batch, columns],
    })
    const stateOf = (data: readonly (FloatArray | undefined)[]) => {
      let place = 0
      return mapState<number, FloatTensor>([cell.stateSize], ([columns]) => tensor(data[place++], columns))
    }
    const write = (arrays: readonly FloatArray[], tensors: readonly FloatTensor[]) => {
      for (const [k, { data }] of tensors.entries()) arrays[k].set(data)
    }
    const operation = {}
    const [output, ...after] = this.#computed({
      ...{ name: 'a step of another cell', operands, shapes: sizes.map((columns) => [batch, columns]) },
      forward(results, [x, ...before], { run, steps }) {
        const step = cell.step(tensor(x, columnsOf(input)), stateOf(before), run)
        steps.set(operation, step)
        write(results, [step.output, ...leavesOf(step.state)])
      },
      backward(gradients, given, _, { gradients: sums, steps }) {
        // Copies, which the cell may keep.
        const [dOutput, ...dState] = given.map((each) => each?.slice())
        const step = steps.get(operation) as CellStep<CellState>
        const below = step.backward(tensor(dOutput, cell.outputSize), stateOf(dState), inScope(sums, scope))
        write(gradients, [below.input, ...leavesOf(below.state)])
      },
    })
    let place = 0
    return { output, state: mapState<number, Value>([cell.stateSize], () => after[place++]) }
  }

  protected override activated(x: Value, activation: CellActivation): Value {
    const { value, slope } = elementwiseFunction(activation)
    return this.#computed({
      ...{ name: 'activate', operands: [x], shapes: [x.shape] },
      forward([y], [data]) {
        for (let k = 0; k < y.length; k++) y[k] = value(data[k])
      },
      backward([dx], [dy], [data, y]) {
        for (let k = 0; k < dx.length; k++) dx[k] = (dy as FloatArray)[k] * slope(y[k], data[k])
      },
    })[0]
  }

  override variable(name: string): Value {
    this.#used.add(name)
    return entryOf(this.#variables, name)
  }

  #computed({ name, operands, constants = [], shapes, forward, backward }: Computation): Value[] {
    const { recording, made } = this.t
    const read = [...operands.map(({ tensor }) => tensor), ...constants]
    const tensors = this.#program.command(shapes, read, (results, arrays, _, context) =>
      forward(results, arrays, context),
    )
    const isDifferentiated = recording.differentiates(operands)
    const results = tensors.map((tensor) => recording.newValue(tensor, isDifferentiated, made))
    if (!isDifferentiated) return results
    const held = [...read, ...tensors]
    recording.add({
      ...{ name, operands, results, held, operandName: () => 'x' },
      pass: (given) => {
        const passed = this.#program.command(
          operands.map(({ shape }) => shape),
          [...given, ...held],
          (gradients, arrays, _, context) =>
            backward(gradients, arrays.slice(0, given.length), arrays.slice(given.length), context),
        )
        for (const tensor of passed) recording.own(tensor)
        return { gradients: passed, made: passed }
      },
    })
    return results
  }
}

/** The variables [U] of a phased gate, or their gradients. */
interface TimeGate<Vector = FloatArray> {
  readonly period: Vector
  readonly phase: Vector
  readonly ratioOn: Vector
}

/**
 * The openness k [B,U] of a phased gate at the times t [B,1]. With the period τ, the shift s, the open ratio r and
 * φ = mod(t - s, τ)/τ, mod the remainder of a floored division:
 *
 *     k = 2φ/r  where φ < r/2,   2 - 2φ/r  where r/2 <= φ < r,   leak·φ  elsewhere
 */
function openTimeGate(open: FloatArray, time: FloatArray, { period, phase, ratioOn }: TimeGate, leak: number): void {
  const units = period.length
  for (let k = 0; k < open.length; k++) {
    const unit = k % units
    const r = ratioOn[unit]
    const phi = remainderOf(time[(k - unit) / units] - phase[unit], period[unit]) / period[unit]
    open[k] = phi < r / 2 ? (2 * phi) / r : phi < r ? 2 - (2 * phi) / r : leak * phi
  }
}

/**
 * Adds the gradients of {@link openTimeGate}. As TensorFlow's: mod passes the gradient to t - s alone, so ∂φ/∂t = 1/τ,
 * ∂φ/∂s = -1/τ, ∂φ/∂τ = -mod/τ².
 */
function timeGateGradients(
  dTime: FloatArray,
  gradients: TimeGate,
  time: FloatArray,
  { period, phase, ratioOn }: TimeGate,
  dOpen: FloatArray,
  leak: number,
): void {
  const units = period.length
  for (let k = 0; k < dOpen.length; k++) {
    const unit = k % units
    const b = (k - unit) / units
    const tau = period[unit]
    const r = ratioOn[unit]
    const remainder = remainderOf(time[b] - phase[unit], tau)
    const phi = remainder / tau
    const dPhi = dOpen[k] * (phi < r / 2 ? 2 / r : phi < r ? -2 / r : leak)
    dTime[b] += dPhi / tau
    gradients.phase[unit] -= dPhi / tau
    gradients.period[unit] -= (dPhi * remainder) / (tau * tau)
    if (phi < r) gradients.ratioOn[unit] -= (dPhi * phi) / r
  }
}

function remainderOf(shifted: number, period: number): number {
  return shifted - period * Math.floor(shifted / period)
}
