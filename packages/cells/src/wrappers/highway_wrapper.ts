import { checkArguments, checkOptions, FINITE, FLAG, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import type { CellState, StateTree } from '../cell/cell_state.js'
import { denseSpecs, OwnVariables, type VariableSpec } from '../cell/cell_variables.js'
import type { CellPart } from './composite_cell.js'
import { CELL, type RNNCell } from '../cell/rnn_cell.js'
import { SkipWrapper } from './cell_wrapper.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  /** True: the transform gate is 1 minus the carry gate. False: it has its own variables. Default true. */
  coupleCarryTransformGates: optional(FLAG),
  /** The beginning of `carry_b`, and of `transform_b` with the other sign. Default 1. */
  carryBiasInit: optional(FINITE),
}

interface HighwayWrapperOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `HighwayWrapper` (Srivastava, Greff & Schmidhuber 2015, https://arxiv.org/abs/1505.00387): x∘k + y∘t, of the
 * cell's input x and output y, with the carry gate k = σ(x·carry_w + carry_b) and the transform gate t = 1 - k, or
 * σ(x·transform_w + transform_b). `carry_w` [I,I], `carry_b` [I], … are in the caller's scope, beside the
 * scope of the cell, as in TensorFlow.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { BasicRNNCell, HighwayWrapper } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new HighwayWrapper(new BasicRNNCell(3))
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.shape) // [2, 3] [2, 3]
 * ```
 */
export class HighwayWrapper<State extends CellState> extends SkipWrapper<State> {
  readonly coupleCarryTransformGates: boolean
  readonly carryBiasInit: number
  readonly #own: CellPart

  constructor(cell: RNNCell<State>, options: HighwayWrapperOptions = {}) {
    checkArguments('build HighwayWrapper', { cell }, { cell: CELL })
    const given = checkOptions('build HighwayWrapper', options, OPTIONS)
    super(cell, 'highway_wrapper', cell.scope)
    this.coupleCarryTransformGates = given.coupleCarryTransformGates ?? true
    this.carryBiasInit = given.carryBiasInit ?? 1
    const cellOfGates = new OwnVariables('highway_wrapper', cell.dtype, (inputSize) => this.#gateSpecs(inputSize))
    this.#own = { scope: '', cell: cellOfGates, inputSizeOf: (inputSize) => inputSize }
  }

  override get scope(): string {
    return ''
  }

  protected override get parts(): readonly CellPart[] {
    return [this.innerPart, this.#own]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const inner = graph.innerStep(this.cell as unknown as RNNCell<CellState>, this.cell.scope, x, state)
    const carry = graph.sigmoid(graph.linear([x], 'carry_w', 'carry_b'))
    if (this.coupleCarryTransformGates) return { output: graph.mix(carry, x, inner.output), state: inner.state }
    const transform = graph.sigmoid(graph.linear([x], 'transform_w', 'transform_b'))
    const output = graph.t.add(graph.t.multiply(x, carry), graph.t.multiply(inner.output, transform))
    return { output, state: inner.state }
  }

  #gateSpecs(inputSize: number): readonly VariableSpec[] {
    const gate = (name: string, bias: number) => denseSpecs([`${name}_w`, `${name}_b`], inputSize, inputSize, bias)
    const { coupleCarryTransformGates, carryBiasInit } = this
    return [...gate('carry', carryBiasInit), ...(coupleCarryTransformGates ? [] : gate('transform', -carryBiasInit))]
  }
}
