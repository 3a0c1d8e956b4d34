import { type CellActivation, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { CellRun } from './cell_run.js'
import type { CellState, StateTree } from './cell_state.js'
import type { LSTMRule } from './lstm_rule.js'
import type { RNNCell } from './rnn_cell.js'

/** A tensor of one step, in host memory or on a tape. */
export interface GraphValue {
  readonly shape: readonly number[]
}

/** Columns of the last dimension. */
export function columnsOf({ shape }: GraphValue): number {
  return shape[shape.length - 1]
}

/** Product of the dimensions before the last. */
export function rowsOf({ shape }: GraphValue): number {
  return elementCount(shape.slice(0, -1))
}

/** The results of a cell's equations. */
export interface GraphStep<Value> {
  readonly output: Value
  readonly state: StateTree<Value>
}

/** A cell that states its step as operations. */
export interface EquationCell {
  /** Output and next state of `input` [B,I] and `state`, which has the structure of the cell's `stateSize`. */
  equations<Value extends GraphValue>(graph: StepGraph<Value>, input: Value, state: StateTree<Value>): GraphStep<Value>
}

/** The cell, which states its step as operations. */
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

/**
 * The operations of a step. A cell states its equations by them once: `HostGraph` computes them in host memory, `TapeGraph` on a
 * tape. The backward follows from the operations.
 *
 * Variables are named as the cell names them. Operands of one operation have as many rows.
 */
export abstract class StepGraph<Value extends GraphValue> {
  abstract readonly run: CellRun

  /** z [B,N] = [x_0, x_1, …]·K + b; the operands' columns together are the rows of K. */
  abstract linear(operands: readonly Value[], kernelName: string, biasName?: string): Value
  /** x + b in every row. */
  abstract addBias(x: Value, biasName: string): Value
  /** x∘v in every row. */
  abstract scaled(x: Value, vectorName: string): Value
  /** f(x + shift) of every element, the argument bounded to ±bound (the slope at the bound is 0). */
  abstract activate(x: Value, activation: CellActivation, shift?: number, bound?: number): Value
  /** x bounded to ±bound; Infinity bounds nothing. */
  abstract clip(x: Value, bound: number, gradient: LSTMRule['clipGradient']): Value
  /** a + b */
  abstract add(a: Value, b: Value): Value
  /** a∘b */
  abstract multiply(a: Value, b: Value): Value
  /** g∘a + (1-g)∘b */
  abstract mix(g: Value, a: Value, b: Value): Value
  /** x∘m with constants m, as many as x has elements, or one row of them for all rows. */
  abstract masked(x: Value, mask: FloatArray): Value
  /** Columns [begin, begin + count) of x. */
  abstract takeColumns(x: Value, begin: number, count: number): Value
  /** x in `parts` equal blocks of columns. */
  abstract split(x: Value, parts: number): Value[]
  /** The values side by side. */
  abstract concat(values: readonly Value[]): Value
  /** The same elements in another shape. */
  abstract reshaped(x: Value, shape: readonly number[]): Value
  /** γ∘(x - μ)/√(σ² + ε) + β over the columns of each row. */
  abstract layerNorm(x: Value, gammaName: string, betaName: string, epsilon: number): Value
  /** The elements of x [B·S,C] under a kernel at each of S positions: [B·S,K·C], zeros in the padding. */
  abstract patches(x: Value, positions: number, sources: Int32Array): Value
  /** The openness [B,U] of a phased gate at the times t [B,1]. */
  abstract timeGate(time: Value, names: TimeGateNames, leak: number, trainsRatio: boolean): Value
  /** Additive attention over memory [B·L,A] with keys [B·L,V] and query [B,V]: [B,A]. */
  abstract additiveAttention(memory: Value, keys: Value, query: Value, vectorName: string): Value
  /** A step of another cell, whose variables are in `scope` of this one's. */
  abstract innerStep(cell: RNNCell<CellState>, scope: string, input: Value, state: StateTree<Value>): GraphStep<Value>

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
}
