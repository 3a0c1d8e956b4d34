import type { CellActivation, FloatArray } from '@cudnn-rnn/canonical'
import { elementwiseFunction } from '@cudnn-rnn/ops/executor'
import type { CellRun } from './cell_run.js'
import type { CellState, StateTree } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import { additiveAttention } from './host_attention.js'
import { concat, reshaped, split, takeColumns } from './host_columns.js'
import { activate, add, affine, clip, masked, mix, multiply } from './host_elementwise.js'
import { innerStep } from './host_inner_step.js'
import { layerNorm } from './host_layer_norm.js'
import { patches } from './host_patches.js'
import { addBias, linear, scaled } from './host_product.js'
import { timeGate } from './host_time_gate.js'
import type { LSTMRule } from './lstm_rule.js'
import type { RNNCell } from './rnn_cell.js'
import { type GraphStep, StepGraph, type TimeGateNames } from './step_graph.js'
import { type HostValue, StepTape } from './step_tape.js'

/** The operations of one step in host memory. */
export class HostGraph extends StepGraph<HostValue> {
  readonly run: CellRun
  readonly tape: StepTape

  constructor(run: CellRun, variables: VariableMap) {
    super()
    this.run = run
    this.tape = new StepTape(run, variables)
  }

  linear(operands: readonly HostValue[], kernelName: string, biasName?: string): HostValue {
    return linear(this.tape, operands, kernelName, biasName)
  }

  addBias(x: HostValue, biasName: string): HostValue {
    return addBias(this.tape, x, biasName)
  }

  scaled(x: HostValue, vectorName: string): HostValue {
    return scaled(this.tape, x, vectorName)
  }

  activate(x: HostValue, activation: CellActivation, shift = 0, bound = Number.POSITIVE_INFINITY): HostValue {
    const shifted = shift === 0 ? x : affine(this.tape, x, 1, shift)
    return activate(this.tape, this.clip(shifted, bound, 'zero_outside'), elementwiseFunction(activation))
  }

  clip(x: HostValue, bound: number, gradient: LSTMRule['clipGradient']): HostValue {
    return clip(this.tape, x, bound, gradient)
  }

  add(a: HostValue, b: HostValue): HostValue {
    return add(this.tape, a, b)
  }

  multiply(a: HostValue, b: HostValue): HostValue {
    return multiply(this.tape, a, b)
  }

  mix(g: HostValue, a: HostValue, b: HostValue): HostValue {
    return mix(this.tape, g, a, b)
  }

  masked(x: HostValue, mask: FloatArray): HostValue {
    return masked(this.tape, x, mask)
  }

  takeColumns(x: HostValue, begin: number, count: number): HostValue {
    return takeColumns(this.tape, x, begin, count)
  }

  split(x: HostValue, parts: number): HostValue[] {
    return split(this.tape, x, parts)
  }

  concat(values: readonly HostValue[]): HostValue {
    return concat(this.tape, values)
  }

  reshaped(x: HostValue, shape: readonly number[]): HostValue {
    return reshaped(this.tape, x, shape)
  }

  layerNorm(x: HostValue, gammaName: string, betaName: string, epsilon: number): HostValue {
    return layerNorm(this.tape, x, gammaName, betaName, epsilon)
  }

  patches(x: HostValue, positions: number, sources: Int32Array): HostValue {
    return patches(this.tape, x, positions, sources)
  }

  timeGate(time: HostValue, names: TimeGateNames, leak: number, trainsRatio: boolean): HostValue {
    return timeGate(this.tape, time, names, leak, trainsRatio)
  }

  additiveAttention(memory: HostValue, keys: HostValue, query: HostValue, vectorName: string): HostValue {
    return additiveAttention(this.tape, memory, keys, query, vectorName)
  }

  innerStep(
    cell: RNNCell<CellState>,
    scope: string,
    input: HostValue,
    state: StateTree<HostValue>,
  ): GraphStep<HostValue> {
    return innerStep(this.tape, cell, scope, input, state)
  }
}
