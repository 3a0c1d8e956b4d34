import { type CellActivation, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError, entryOf, required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import { executorActivation } from '../cell/activation.js'
import type { CellRun } from '../cell/cell_run.js'
import type { CellState, StateTree } from '../cell/cell_state.js'
import type { RNNCell } from '../cell/rnn_cell.js'
import { joinScopes } from '../cell/variable_scopes.js'
import type { LSTMRule } from '../lstm/lstm_rule.js'

/** Columns of the last dimension. */
export function columnsOf({ shape }: Pick<Value, 'shape'>): number {
  return shape[shape.length - 1]
}

/** Product of the dimensions before the last. */
export function rowsOf({ shape }: Pick<Value, 'shape'>): number {
  return elementCount(shape.slice(0, -1))
}

export interface GraphStep {
  readonly output: Value
  readonly state: StateTree<Value>
}

export interface EquationCell {
  /** Output and next state of `input` [B,I] and `state`, which has the structure of the cell's `stateSize`. */
  equations(graph: StepGraph, input: Value, state: StateTree<Value>): GraphStep
}

export function withEquations(cell: object): EquationCell {
  if ('equations' in cell) return cell as EquationCell
  throw new Error('The step of this cell is not stated as operations')
}

/** The variables of a phased gate, [U] each. */
export interface TimeGateNames {
  readonly period: string
  readonly phase: string
  readonly ratioOn: string
}

export interface TapeSequence {
  readonly run: CellRun
  /** By name, in matrices: leading dimensions of a kernel are one. */
  readonly variables: ReadonlyMap<string, Value>
  /** A number as a value that outlives the step. */
  readonly number: (value: number) => Value
}

/**
 * The operations of a step on a tape. A cell states its equations by them once; the backward follows from the tape. Nothing is read
 * back, so on cuDNN a step of training stays one command list.
 *
 * Variables are named as the cell names them. Operands of one operation have as many rows.
 */
export class StepGraph {
  /** For operations that read no variable. */
  readonly t: GradientTape
  readonly #sequence: TapeSequence
  readonly #scope: string

  constructor(t: GradientTape, sequence: TapeSequence, scope = '') {
    this.t = t
    this.#sequence = sequence
    this.#scope = scope
  }

  get run(): CellRun {
    return this.#sequence.run
  }

  /** z [B,N] = [x_0, x_1, …]·K + b; the operands' columns together are the rows of K. */
  linear(operands: readonly Value[], kernelName: string, biasName?: string): Value {
    const x = operands.length === 1 ? operands[0] : this.t.concat(operands)
    const kernel = this.variable(kernelName)
    return biasName === undefined ? this.t.matmul(x, kernel) : this.t.linear(x, kernel, this.variable(biasName))
  }

  /** f(x + shift) of every element, the argument bounded to ±bound (the slope at the bound is 0). */
  activate(x: Value, activation: CellActivation, shift = 0, bound = Number.POSITIVE_INFINITY): Value {
    return this.activated(this.clip(this.#shifted(x, shift), bound, 'zero_outside'), activation)
  }

  /** f(x) */
  protected activated(x: Value, activation: CellActivation): Value {
    const known = required(executorActivation(activation), 'a cell runs on tapes if executors have its activations')
    const { operation, maximum, scale = 1 } = known
    const scaled = scale === 1 ? x : this.t.multiply(x, this.#number(scale))
    const argument = this.#shifted(scaled, known.shift ?? 0)
    return operation === undefined ? argument : this.t.activate(argument, operation, { maximum })
  }

  #shifted(x: Value, shift: number): Value {
    return shift === 0 ? x : this.t.add(x, this.#number(shift))
  }

  /** x bounded to ±bound; Infinity bounds nothing. */
  clip(x: Value, bound: number, gradient: LSTMRule['clipGradient']): Value {
    if (bound === Number.POSITIVE_INFINITY) return x
    const t = this.t
    const [least, most] = [-bound, bound].map(this.#number)
    // The gradient of equal operands goes to the first: 0 for an x at the bound.
    if (gradient === 'zero_outside') return t.maximum(least, t.minimum(most, x))
    const { ops } = t.backend
    using below = ops.minimum(x.tensor, most.tensor)
    return this.#recorded('clip', [x], [], ops.maximum(below, least.tensor), (dy) => [dy], [])
  }

  /** g∘a + (1-g)∘b */
  mix(g: Value, a: Value, b: Value): Value {
    // b + g∘(a - b)
    return this.t.add(this.t.multiply(g, this.t.subtract(a, b)), b)
  }

  /** x∘m with constants m of `shape`, which is that of x or of one row; each step draws them. */
  masked(x: Value, shape: readonly number[], draw: (run: CellRun) => FloatArray): Value {
    return this.t.multiply(x, { data: draw(this.run), shape })
  }

  /** γ∘(x - μ)/√(σ² + ε) + β over the columns of each row. */
  layerNorm(x: Value, gammaName: string, betaName: string, epsilon: number): Value {
    return this.t.layerNorm(x, this.variable(gammaName), this.variable(betaName), { epsilon })
  }

  /** The elements of x [B·S,C] under a kernel at each of S positions: [B·S,K·C], zeros in the padding. */
  patches(x: Value, positions: number, sources: Int32Array): Value {
    const [rows, columns] = [rowsOf(x), columnsOf(x)]
    const taps = sources.length / positions
    // Row `rows` of the table is the padding.
    const places = Int32Array.from({ length: rows * taps }, (_, k) => {
      const source = sources[k % sources.length]
      return source < 0 ? rows : Math.floor(k / sources.length) * positions + source
    })
    const table = this.t.pad(x, [0, 0], [1, 0])
    return this.t.reshape(this.t.embedding(table, { data: places, shape: [rows, taps] }), [rows, taps * columns])
  }

  /** The openness [B,U] of a phased gate at the times t [B,1]. */
  timeGate(time: Value, names: TimeGateNames, leak: number, trainsRatio: boolean): Value {
    const { backend } = this.t
    const { phasedGate, phasedGateGradients } = backend.ops
    if (phasedGate === undefined || phasedGateGradients === undefined) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot run a PhasedLSTMCell on a tape as the executor must have the operation phasedGate: current executor is ${backend.name}`,
        { option: 'backend', value: backend.name },
      )
    }
    const [period, phase, ratio] = [names.period, names.phase, names.ratioOn].map((name) => this.variable(name))
    const ratioOn = trainsRatio ? ratio : this.t.stopGradient(ratio)
    const variables = { period: period.tensor, phase: phase.tensor, ratioOn: ratioOn.tensor }
    const operands = [time, period, phase, ratioOn]
    const held = operands.map(({ tensor }) => tensor)
    const gate = phasedGate(time.tensor, variables, { leak })
    return this.#recorded('phasedGate', operands, held, gate, (dy) => {
      const gradients = phasedGateGradients(time.tensor, variables, dy, { leak })
      return [gradients.times, gradients.period, gradients.phase, gradients.ratioOn]
    })
  }

  /** Additive attention over memory [B·L,A] with keys [B·L,V] and query [B,V]: [B,A]. */
  additiveAttention(memory: Value, keys: Value, query: Value, vectorName: string): Value {
    const t = this.t
    const [batch, width] = query.shape
    const slots = rowsOf(memory) / batch
    const hidden = t.activate(
      t.add(t.reshape(keys, [batch, slots, width]), t.reshape(query, [batch, 1, width])),
      'tanh',
    )
    const vector = t.reshape(this.variable(vectorName), [1, width])
    const weights = t.activate(t.matmul(vector, hidden, { transposeB: true }), 'softmax') // [B,1,L]
    const columns = columnsOf(memory)
    return t.reshape(t.matmul(weights, t.reshape(memory, [batch, slots, columns])), [batch, columns])
  }

  /** A step of another cell, whose variables are in `scope` of this one's. */
  innerStep(cell: RNNCell<CellState>, scope: string, input: Value, state: StateTree<Value>): GraphStep {
    const inner = new StepGraph(this.t, this.#sequence, joinScopes(this.#scope, scope))
    return withEquations(cell).equations(inner, input, state)
  }

  /** σ(x + shift), the argument bounded to ±bound. */
  sigmoid(x: Value, shift = 0, bound = Number.POSITIVE_INFINITY): Value {
    return this.activate(x, 'sigmoid', shift, bound)
  }

  tanh(x: Value): Value {
    return this.activate(x, 'tanh')
  }

  relu(x: Value): Value {
    return this.activate(x, 'relu')
  }

  /** The cell's variable of that name, a matrix. */
  variable(name: string): Value {
    return entryOf(this.#sequence.variables, joinScopes(this.#scope, name))
  }

  readonly #number = (value: number): Value => this.#sequence.number(value)

  /** The result of an operation without a row on tapes. */
  #recorded(
    name: string,
    operands: readonly Value[],
    held: readonly BackendTensor[],
    tensor: BackendTensor,
    gradients: (dy: BackendTensor) => readonly BackendTensor[],
    made?: readonly BackendTensor[],
  ): Value {
    const { recording } = this.t
    const result = recording.newValue(tensor, recording.differentiates(operands), this.t.made)
    if (!result.isDifferentiated) return result
    recording.add({
      ...{ name, operands, held, results: [result] },
      operandName: () => 'x',
      pass([dy]) {
        const passed = gradients(dy as BackendTensor)
        if (made === undefined) for (const tensor of passed) recording.own(tensor)
        return { gradients: passed, made: made ?? passed }
      },
    })
    return result
  }
}

/** A tensor as a matrix, whose rows are its leading dimensions. */
export function asMatrix(t: GradientTape, x: Value): Value {
  return x.shape.length <= 2 ? x : t.reshape(x, [rowsOf(x), columnsOf(x)])
}
