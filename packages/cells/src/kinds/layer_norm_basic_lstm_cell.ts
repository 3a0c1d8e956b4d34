import { FINITE, FLAG, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { type CellActivation, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { Value } from '@cudnn-rnn/ops/executor'
import { ACTIVATION } from '../cell/activation.js'
import { CELL_OPTIONS, type CellOptions, checkCellOptions } from '../cell/cell_options.js'
import type { CellRun } from '../cell/cell_run.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import { kernelSpec, type VariableSpec } from '../cell/cell_variables.js'
import { DropoutMasks, KEEP_PROBABILITY, SEED } from '../cell/dropout_masks.js'
import { fusedLSTM } from '../lstm/fused_lstm.js'
import { MemoryCell } from './memory_cell.js'
import { lstmSequence } from '../lstm/lstm_sequence.js'
import type { SequenceOperands, SequencePass } from '../cell/rnn_cell.js'
import type { GraphStep, StepGraph } from '../graph/step_graph.js'

const OPTIONS = {
  ...CELL_OPTIONS,
  /** Added to the normalized forget gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
  /** Default tanh. */
  activation: ACTIVATION,
  /** False: no normalization, and a `bias` [4U]. Default true. */
  layerNorm: optional(FLAG),
  /** The beginning of every gamma. Default 1. */
  normGain: optional(FINITE),
  /** The beginning of every beta. Default 0. */
  normShift: optional(FINITE),
  /** Probability, > 0, with which an element of the candidate is kept in training. Default 1. */
  dropoutKeepProb: KEEP_PROBABILITY,
  /** Seed of the masks; they are not TensorFlow's. Default 0. */
  dropoutProbSeed: SEED,
}

interface LayerNormBasicLSTMCellOptions extends CellOptions, OptionsOf<typeof OPTIONS> {}

/** The gates in the kernel's order, under the names of their scopes; then the cell state. */
const NORMALIZED = ['input', 'transform', 'forget', 'output', 'state'] as const

/** TensorFlow's `variance_epsilon` of `layer_norm`. */
const EPSILON = 1e-12

/**
 * TensorFlow's `LayerNormBasicLSTMCell`: an LSTM with layer normalization (Ba et al. 2016) and recurrent dropout
 * (Semeniuta et al. 2016, https://arxiv.org/abs/1603.05118). Variables `kernel` [I+U,4U] in blocks i,j,f,o and
 * `input|transform|forget|output|state/gamma` and `…/beta` [U]; `bias` [4U] instead, drawn as a kernel, without normalization.
 *
 *     ẑ = [x,h]·K   i = σ(LN ẑ_i)   g = drop(act(LN ẑ_j))   f = σ(LN ẑ_f + φ)   o = σ(LN ẑ_o)
 *     c' = LN(f∘c + i∘g)   h' = o∘act(c')
 *
 * The state has the normalized c'. TensorFlow drops in inference too; here only `training` drops.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { LayerNormBasicLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new LayerNormBasicLSTMCell(4, { dropoutKeepProb: 0.9 })
 * const input = { data: new Float32Array(2 * 3).fill(1), shape: [2, 3] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 4] [2, 4] [2, 4]
 * ```
 */
export class LayerNormBasicLSTMCell extends MemoryCell {
  readonly forgetBias: number
  readonly activation: CellActivation
  readonly layerNorm: boolean
  readonly normGain: number
  readonly normShift: number
  readonly dropoutKeepProb: number
  readonly #masks: DropoutMasks

  constructor(numUnits: number, options: LayerNormBasicLSTMCellOptions = {}) {
    const given = checkCellOptions('LayerNormBasicLSTMCell', numUnits, options, OPTIONS)
    const { activation = 'tanh' } = given
    super(given.name ?? 'layer_norm_basic_lstm_cell', given, numUnits, numUnits, [activation])
    this.forgetBias = given.forgetBias ?? 1
    this.activation = activation
    this.layerNorm = given.layerNorm ?? true
    this.normGain = given.normGain ?? 1
    this.normShift = given.normShift ?? 0
    this.dropoutKeepProb = given.dropoutKeepProb ?? 1
    this.#masks = new DropoutMasks(given.dropoutProbSeed ?? 0)
  }

  override get randomSources(): readonly DropoutMasks[] {
    return this.dropoutKeepProb < 1 ? [this.#masks] : []
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const { numUnits, normGain, normShift } = this
    const kernel = kernelSpec('kernel', inputSize + numUnits, 4 * numUnits)
    if (!this.layerNorm) return [kernel, kernelSpec('bias', 4 * numUnits)]
    const norms = NORMALIZED.flatMap((name) => [
      { name: `${name}/gamma`, shape: [numUnits], initializer: normGain },
      { name: `${name}/beta`, shape: [numUnits], initializer: normShift },
    ])
    return [kernel, ...norms]
  }

  /** On the executor's kernel for LSTMs, if it has one. */
  override sequencePass(sequence: SequenceOperands<LSTMStateTuple>): SequencePass<LSTMStateTuple> | undefined {
    const { inputs, run } = sequence
    const [time, batch] = inputs.shape as [number, number, number]
    const { lstm } = run
    if (lstm === undefined || this.activation !== 'tanh' || time <= 1) return undefined
    const { numUnits, forgetBias, variables } = this
    const norms = this.layerNorm ? NORMALIZED : undefined
    const dropout = this.#drops(run) ? this.#mask(time * batch * numUnits) : null
    const layer = { numUnits, forgetBias, variables, norms, epsilon: EPSILON, dropout }
    return lstmSequence(variables, sequence, (arrays) => fusedLSTM(lstm, layer, run, arrays))
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const { t } = graph
    const { c, h } = state as LSTMStateTuple<Value>
    const act = (value: Value) => graph.activate(value, this.activation)
    const norm = (name: (typeof NORMALIZED)[number], value: Value) =>
      this.layerNorm ? graph.layerNorm(value, `${name}/gamma`, `${name}/beta`, EPSILON) : value
    const [zi, zj, zf, zo] = t.split(graph.linear([x, h], 'kernel', this.layerNorm ? undefined : 'bias'), 4)
    const candidate = act(norm('transform', zj))
    const kept = this.#dropped(graph, candidate)
    const forgotten = t.multiply(c, graph.sigmoid(norm('forget', zf), this.forgetBias))
    const added = t.multiply(graph.sigmoid(norm('input', zi)), kept)
    const next = norm('state', t.add(forgotten, added))
    const hidden = t.multiply(act(next), graph.sigmoid(norm('output', zo)))
    return { output: hidden, state: { c: next, h: hidden } }
  }

  #dropped(graph: StepGraph, candidate: Value): Value {
    if (!this.#drops(graph.run)) return candidate
    return graph.masked(candidate, candidate.shape, () => this.#mask(elementCount(candidate.shape)))
  }

  #drops({ training }: CellRun): boolean {
    return training && this.dropoutKeepProb < 1
  }

  /** The factors of the next `count` elements of candidates. */
  #mask(count: number): FloatArray {
    return this.#masks.draw(this.dtype, count, this.dropoutKeepProb)
  }
}
