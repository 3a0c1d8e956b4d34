import { FLAG, nullable, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { CELL_OPTIONS, type CellOptions, checkCellOptions, SIZE } from '../cell/cell_options.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import { kernelSpec, type VariableSpec } from '../cell/cell_variables.js'
import { MemoryCell } from './memory_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** P: m and the output are projected by `projection_weights` [U,P]. Default null, none. */
  numProj: nullable(SIZE),
  /** A `bias` [8U], added on the side of m (TensorFlow's `use_biases` up to 1.13). Default false. */
  useBias: optional(FLAG),
}

interface NASCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `NASCell`, the cell that Zoph & Le 2016 (https://arxiv.org/abs/1611.01578) found by search. Variables
 * `recurrent_kernel` [P,8U], `kernel` [I,8U], `bias`, `projection_weights`. Its state is { c, h } with h = m.
 *
 *     M = m·R + b   X = x·K, each in 8 blocks
 *     l0 = σ(X0+M0)   l1 = relu(X1+M1)   l2 = σ(X2+M2)   l3 = relu(X3∘M3)
 *     l4 = tanh(X4+M4)   l5 = σ(X5+M5)   l6 = tanh(X6+M6)   l7 = σ(X7+M7)
 *     c' = tanh(tanh(l0∘l1) + c)∘tanh(l2+l3)   m' = tanh(c'∘tanh(tanh(l4∘l5) + σ(l6+l7)))·W
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { NASCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new NASCell(4)
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class NASCell extends MemoryCell {
  readonly numProj: number | null
  readonly useBias: boolean

  constructor(numUnits: number, options: NASCellOptions = {}) {
    const given = checkCellOptions('NASCell', numUnits, options, OPTIONS)
    super(given.name ?? 'nas_cell', given, numUnits, given.numProj ?? numUnits)
    this.numProj = given.numProj ?? null
    this.useBias = given.useBias ?? false
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const { numUnits, outputSize, numProj, useBias } = this
    return [
      kernelSpec('recurrent_kernel', outputSize, 8 * numUnits),
      kernelSpec('kernel', inputSize, 8 * numUnits),
      ...(useBias ? [{ name: 'bias', shape: [8 * numUnits], initializer: 0 }] : []),
      ...(numProj === null ? [] : [kernelSpec('projection_weights', numUnits, numProj)]),
    ]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const { t } = graph
    const { c, h } = state as LSTMStateTuple<Value>
    const fromM = t.split(graph.linear([h], 'recurrent_kernel', this.useBias ? 'bias' : undefined), 8)
    const fromX = t.split(graph.linear([x], 'kernel'), 8)
    const sum = (block: number) => t.add(fromX[block], fromM[block])
    const l0 = graph.sigmoid(sum(0))
    const l1 = graph.relu(sum(1))
    const l2 = graph.sigmoid(sum(2))
    const l3 = graph.relu(t.multiply(fromX[3], fromM[3]))
    const l4 = graph.tanh(sum(4))
    const l5 = graph.sigmoid(sum(5))
    const l6 = graph.tanh(sum(6))
    const l7 = graph.sigmoid(sum(7))
    const candidate = graph.tanh(t.add(graph.tanh(t.multiply(l0, l1)), c))
    const nextC = t.multiply(candidate, graph.tanh(t.add(l2, l3)))
    const opened = t.add(graph.tanh(t.multiply(l4, l5)), graph.sigmoid(t.add(l6, l7)))
    const unprojected = graph.tanh(t.multiply(nextC, graph.tanh(opened)))
    const m = this.numProj === null ? unprojected : graph.linear([unprojected], 'projection_weights')
    return { output: m, state: { c: nextC, h: m } }
  }
}
