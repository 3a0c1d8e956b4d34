import type { CellActivation } from '@cudnn-rnn/canonical'
import { invalidOption, FINITE, nullable, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { ACTIVATION } from '../cell/activation.js'
import { CELL_OPTIONS, type CellOptions, checkCellOptions, SIZE } from '../cell/cell_options.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import { type BuildOptions, checkBuild, type VariableSpec } from '../cell/cell_variables.js'
import { INITIALIZER, kernelInitializer } from '../cell/kernel_initializer.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'
import { MemoryCell } from './memory_cell.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** Initializer of the kernels. Default `glorot_uniform`. */
  initializer: INITIALIZER,
  /** P: m and the output are projected by `projection/kernel` [U,P]. Default null, none. */
  numProj: nullable(SIZE),
  /** G; the units, the projection and the inputs must be divisible by it. Default 1. */
  numberOfGroups: optional(SIZE),
  /** Added to the forget gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
  /** Activation of the new cell state; the candidate is always tanh. Default tanh. */
  activation: ACTIVATION,
}

interface GLSTMCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

/** Blocks of a group's kernel. */
const GATES = ['i', 'j', 'f', 'o'] as const

/**
 * TensorFlow's `GLSTMCell`, the group LSTM of Kuchaiev & Ginsburg 2017 (https://arxiv.org/abs/1703.10722). x and m are cut in
 * G slices, each with its own kernel. Variables `group<g>/kernel` [I/G+P/G,4U/G] in blocks i,j,f,o, `bias_i`, `bias_j`,
 * `bias_f`, `bias_o` [U], `projection/kernel` [U,P]. Its state is { c, h } with h = m.
 *
 *     [x_g, m_g]·K_g to i_g, j_g, f_g, o_g; each gate joined over the groups, plus its bias
 *     c' = σ(f + φ)∘c + σ(i)∘tanh(j)   m' = (σ(o)∘act(c'))·W
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`, also if a size is not divisible by G
 * @example
 * ```ts
 * import { GLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new GLSTMCell(4, { numberOfGroups: 2 })
 * const input = { data: new Float32Array(2 * 6).fill(1), shape: [2, 6] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class GLSTMCell extends MemoryCell {
  readonly numProj: number | null
  readonly numberOfGroups: number
  readonly forgetBias: number
  readonly activation: CellActivation
  readonly #initializer: VariableSpec['initializer']

  constructor(numUnits: number, options: GLSTMCellOptions = {}) {
    const given = checkCellOptions('GLSTMCell', numUnits, options, OPTIONS)
    const { activation = 'tanh' } = given
    super(given.name ?? 'glstm_cell', given, numUnits, given.numProj ?? numUnits, [activation])
    this.numProj = given.numProj ?? null
    this.numberOfGroups = given.numberOfGroups ?? 1
    this.forgetBias = given.forgetBias ?? 1
    this.activation = activation
    this.#initializer = kernelInitializer(given.initializer)
    checkDivisible('build GLSTMCell', 'numUnits', numUnits, this.numberOfGroups)
    if (this.numProj !== null) checkDivisible('build GLSTMCell', 'numProj', this.numProj, this.numberOfGroups)
  }

  /** Throws as the `build` of every cell, and RangeError `ERR_INVALID_OPTION` if the input is not divisible by the number of groups. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    const given = checkBuild(this.name, inputSize, options)
    checkDivisible(`build ${this.name}`, 'inputSize', inputSize, this.numberOfGroups)
    super.build(inputSize, given)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const { numUnits, numProj, numberOfGroups, outputSize } = this
    const shape = [(inputSize + outputSize) / numberOfGroups, (4 * numUnits) / numberOfGroups]
    return [
      ...Array.from({ length: numberOfGroups }, (_, group) => {
        return { name: `group${group}/kernel`, shape, initializer: this.#initializer }
      }),
      ...GATES.map((gate) => ({ name: `bias_${gate}`, shape: [numUnits], initializer: 0 })),
      ...(numProj === null
        ? []
        : [{ name: 'projection/kernel', shape: [numUnits, numProj], initializer: this.#initializer }]),
    ]
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const { t } = graph
    const { c, h } = state as LSTMStateTuple<Value>
    const inputs = t.split(x, this.numberOfGroups)
    const hidden = t.split(h, this.numberOfGroups)
    const groups = inputs.map((input, group) => {
      return t.split(graph.linear([input, hidden[group]], `group${group}/kernel`), GATES.length)
    })
    const [i, j, f, o] = GATES.map((gate, block) => {
      const parts = groups.map((group) => group[block])
      return t.add(parts.length === 1 ? parts[0] : t.concat(parts), graph.variable(`bias_${gate}`))
    })
    const kept = t.multiply(graph.sigmoid(f, this.forgetBias), c)
    const next = t.add(kept, t.multiply(graph.sigmoid(i), graph.tanh(j)))
    const activated = graph.activate(next, this.activation)
    const unprojected = t.multiply(graph.sigmoid(o), activated)
    const m = this.numProj === null ? unprojected : graph.linear([unprojected], 'projection/kernel')
    return { output: m, state: { c: next, h: m } }
  }
}

/** Throws RangeError `ERR_INVALID_OPTION` if `size` is not divisible by the number of groups. */
export function checkDivisible(action: string, option: string, size: number, groups: number): void {
  if (size % groups === 0) return
  throw invalidOption(action, option, `divisible by numberOfGroups ${groups}`, size)
}
