import { entryOf } from '@cudnn-rnn/arguments'
import { ACTIVATIONS, type Activation, type ActivationFunction, ofBoundedArgument } from './activation.js'
import {
  ACTIVATION,
  type CellOptions,
  CLIP,
  checkCellOptions,
  clipBound,
  type PreactivationClip,
} from './cell_options.js'
import type { CellRun } from './cell_run.js'
import type { VariableMap, VariableSpec } from './cell_variables.js'
import { addInputGradient, addKernelGradients, addStateGradient, addStateSide, inputSide } from './concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'
import { type CellStep, RNNCell } from './rnn_cell.js'

/** Options of {@link BasicRNNCell}. */
export interface BasicRNNCellOptions extends CellOptions, PreactivationClip {
  /** Default tanh. */
  readonly activation?: Activation | undefined
}

/**
 * TensorFlow's `BasicRNNCell`: h' = act([x,h]·K + b); variables `kernel` [I+H,H], `bias`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class BasicRNNCell extends RNNCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  readonly activation: Activation
  readonly #function: ActivationFunction

  constructor(numUnits: number, options: BasicRNNCellOptions = {}) {
    checkCellOptions('BasicRNNCell', numUnits, options, { activation: ACTIVATION, preactivationClip: CLIP })
    super(options.name ?? 'basic_rnn_cell', options.dtype)
    this.stateSize = numUnits
    this.outputSize = numUnits
    this.activation = options.activation ?? 'tanh'
    const clip = clipBound(options.preactivationClip)
    this.#function = ofBoundedArgument(ACTIVATIONS[this.activation], clip, this.dtype)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    return [
      { name: 'kernel', shape: [inputSize + this.stateSize, this.stateSize], initializer: 'glorot_uniform' },
      { name: 'bias', shape: [this.stateSize], initializer: 0 },
    ]
  }

  override step(input: FloatTensor, state: FloatTensor, run: CellRun): CellStep<FloatTensor> {
    const [batch, inputSize] = input.shape as [number, number]
    const { apply, slope } = this.#function
    const kernel = { kernel: entryOf(this.variables, 'kernel'), inputSize }
    const x = input.data.slice()
    const h = state.data.slice()
    const next = newArray(this.dtype, h.length)
    inputSide(run, next, kernel, entryOf(this.variables, 'bias'), x)
    addStateSide(run, next, 0, kernel, h, 0, batch)
    for (let k = 0; k < next.length; k++) next[k] = apply(next[k])
    const output = { data: next, shape: [batch, this.outputSize] }
    return {
      output: copyTensor(output),
      state: copyTensor(output),
      // ∂z = (∂output + ∂h')∘act'(z)
      backward: (dOutput: FloatTensor, dState: FloatTensor, gradients: VariableMap) => {
        const dz = next.map((y, k) => (dOutput.data[k] + dState.data[k]) * slope(y))
        const dInput = zeros(this.dtype, input.shape)
        const dPrevious = zeros(this.dtype, state.shape)
        addInputGradient(run, dInput.data, kernel, dz)
        addStateGradient(run, dPrevious.data, kernel, dz, 0, batch)
        addKernelGradients(run, entryOf(gradients, 'kernel'), entryOf(gradients, 'bias'), inputSize, x, h, dz)
        return { input: dInput, state: dPrevious }
      },
    }
  }
}
