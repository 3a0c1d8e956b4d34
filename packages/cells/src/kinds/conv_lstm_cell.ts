import { type CellActivation, elementCount } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FINITE,
  FLAG,
  listOf,
  type OptionsOf,
  optional,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { Value } from '@cudnn-rnn/ops/executor'
import { CELL_OPTIONS, type CellOptions, GATE_ACTIVATIONS, SIZE } from '../cell/cell_options.js'
import type { LSTMStateTuple, StateTree } from '../cell/cell_state.js'
import { type BuildOptions, checkBuild, type VariableSpec } from '../cell/cell_variables.js'
import { GraphCell } from '../graph/graph_cell.js'
import { type GraphStep, rowsOf, type StepGraph } from '../graph/step_graph.js'
import { samePaddingSources } from './same_padding.js'

const SIZES = listOf(SIZE)
/** Entries of the table of positions that a step reads: 256 MiB. */
const MAX_READS = 2 ** 26

const ND_OPTIONS = {
  ...CELL_OPTIONS,
  ...GATE_ACTIVATIONS,
  /** Spatial sizes, then channels, of an input without its batch: [4, 2] are 4 positions of 2 channels. */
  inputShape: SIZES,
  /** Channels of c and h. */
  outputChannels: SIZE,
  /** Sizes of the kernel, one per spatial dimension. */
  kernelShape: SIZES,
  /** Default true. */
  useBias: optional(FLAG),
  /** The output has the input's channels after its own. Default false. */
  skipConnection: optional(FLAG),
  /** Added to the forget gate, never stored. Default 1. */
  forgetBias: optional(FINITE),
}
const OPTIONS = {
  ...ND_OPTIONS,
  /** Number of spatial dimensions: 1, 2 or 3. */
  convNdims: where(SIZE, '1, 2 or 3', (ndims: number) => ndims <= 3),
}

/** Options of {@link Conv1DLSTMCell}, {@link Conv2DLSTMCell} and {@link Conv3DLSTMCell}. */
export interface ConvNDLSTMCellOptions extends CellOptions, OptionsOf<typeof ND_OPTIONS> {}

interface ConvLSTMCellOptions extends ConvNDLSTMCellOptions, OptionsOf<typeof OPTIONS> {}

/**
 * TensorFlow's `ConvLSTMCell` (Shi et al. 2015, https://arxiv.org/abs/1506.04214, without peepholes): one convolution of
 * [x,h] with stride 1 and SAME padding gives the gates i,j,f,o of every position. Variables `kernel` [spatial…, Ci+C, 4C] and
 * `biases` [4C].
 *
 *     c' = σ(f + φ)∘c + σ(i)∘tanh(j)   h' = tanh(c')∘σ(o)
 *
 * Tensors are [B, S·Ci] and [B, S·C], the elements of TensorFlow's [B, spatial…, channels] in the same order. With
 * `skipConnection` only the output has the input's channels: TensorFlow appends them to h too, whose second step then fails.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { ConvLSTMCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new ConvLSTMCell({ convNdims: 1, inputShape: [5, 2], outputChannels: 3, kernelShape: [3] })
 * const input = { data: new Float32Array(2 * 10).fill(1), shape: [2, 10] } // [B,I]
 * const { output, state } = cell.call(input, cell.zeroState(2))
 * console.log(output.shape, state.c.shape, state.h.shape) // [2, 15] [2, 15] [2, 15]
 * ```
 */
export class ConvLSTMCell extends GraphCell<LSTMStateTuple> {
  readonly convNdims: number
  readonly inputShape: readonly number[]
  readonly outputChannels: number
  readonly kernelShape: readonly number[]
  readonly useBias: boolean
  readonly skipConnection: boolean
  readonly forgetBias: number
  readonly activation: CellActivation
  readonly recurrentActivation: CellActivation
  /** S */
  readonly #positions: number
  readonly #sources: Int32Array

  constructor(options: ConvLSTMCellOptions) {
    const given = checkOptions('build ConvLSTMCell', options, OPTIONS)
    const { convNdims, inputShape, kernelShape, activation = 'tanh', recurrentActivation = 'sigmoid' } = given
    super(given.name ?? 'conv_lstm_cell', given.dtype, [activation, recurrentActivation])
    for (const [option, list, expected] of [
      ['inputShape', inputShape, convNdims + 1],
      ['kernelShape', kernelShape, convNdims],
    ] as const) {
      if (list.length === expected) continue
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot build ConvLSTMCell as ${option} must have ${expected} sizes for convNdims ${convNdims}: current value is [${list.join(',')}]`,
        { option, value: list },
      )
    }
    const spatial = inputShape.slice(0, -1)
    const reads = elementCount(spatial) * elementCount(kernelShape)
    if (reads > MAX_READS) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot build ConvLSTMCell as positions of the image times elements of the kernel must be ≤ ${MAX_READS}: current value is ${reads}`,
        { option: 'kernelShape', value: kernelShape },
      )
    }
    this.convNdims = convNdims
    this.inputShape = [...inputShape]
    this.outputChannels = given.outputChannels
    this.kernelShape = [...kernelShape]
    this.useBias = given.useBias ?? true
    this.skipConnection = given.skipConnection ?? false
    this.forgetBias = given.forgetBias ?? 1
    this.activation = activation
    this.recurrentActivation = recurrentActivation
    this.#positions = elementCount(spatial)
    this.#sources = samePaddingSources(spatial, kernelShape)
  }

  get stateSize(): LSTMStateTuple<number> {
    const size = this.#positions * this.outputChannels
    return { c: size, h: size }
  }

  get outputSize(): number {
    return this.#positions * (this.outputChannels + (this.skipConnection ? this.#inputChannels : 0))
  }

  /** Throws as the `build` of every cell, and RangeError `ERR_INVALID_OPTION` if `inputSize` is not the product of `inputShape`. */
  override build(inputSize: number, options: BuildOptions = {}): void {
    const given = checkBuild(this.name, inputSize, options)
    checkArguments(`build ${this.name}`, { inputSize }, { inputSize: this.#inputRule })
    super.build(inputSize, given)
  }

  override variableSpecs(): readonly VariableSpec[] {
    const { kernelShape, outputChannels, useBias } = this
    const shape = [...kernelShape, this.#inputChannels + outputChannels, 4 * outputChannels]
    return [
      { name: 'kernel', shape, initializer: 'glorot_uniform' },
      ...(useBias ? [{ name: 'biases', shape: [4 * outputChannels], initializer: 0 }] : []),
    ]
  }

  protected override inputSizeOf(): number {
    return elementCount(this.inputShape)
  }

  override equations(graph: StepGraph, x: Value, state: StateTree<Value>): GraphStep {
    const { t } = graph
    const { c, h } = state as LSTMStateTuple<Value>
    const batch = rowsOf(x)
    const rows = batch * this.#positions
    const pixels = (value: Value) => t.reshape(value, [rows, elementCount(value.shape) / rows])
    const image = (value: Value) => t.reshape(value, [batch, elementCount(value.shape) / batch])
    const under = graph.patches(t.concat([pixels(x), pixels(h)]), this.#positions, this.#sources)
    const [i, j, f, o] = t.split(graph.linear([under], 'kernel', this.useBias ? 'biases' : undefined), 4)
    const gate = (value: Value, shift = 0) => graph.activate(value, this.recurrentActivation, shift)
    const activated = (value: Value) => graph.activate(value, this.activation)
    const kept = t.multiply(gate(f, this.forgetBias), pixels(c))
    const next = t.add(kept, t.multiply(gate(i), activated(j)))
    const hidden = t.multiply(activated(next), gate(o))
    const output = this.skipConnection ? t.concat([hidden, pixels(x)]) : hidden
    return { output: image(output), state: { c: image(next), h: image(hidden) } }
  }

  get #inputChannels(): number {
    return this.inputShape[this.inputShape.length - 1]
  }

  get #inputRule() {
    const expected = elementCount(this.inputShape)
    return where(SIZE, `${expected}, the product of inputShape`, (inputSize: number) => inputSize === expected)
  }
}
