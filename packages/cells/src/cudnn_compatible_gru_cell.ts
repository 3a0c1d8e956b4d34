import { entryOf } from '@cudnn-rnn/arguments'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { ACTIVATIONS, type ActivationFunction, ofBoundedArgument, SIGMOID } from './activation.js'
import { type CellOptions, CLIP, checkCellOptions, clipBound, type PreactivationClip } from './cell_options.js'
import type { CellRun } from './cell_run.js'
import type { VariableMap, VariableSpec } from './cell_variables.js'
import { addInputGradient, addKernelGradients, addStateGradient, addStateSide, inputSide } from './concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'
import { type CellStep, RNNCell } from './rnn_cell.js'

const GATES = 'gates'
const INPUT = 'candidate/input_projection'
const HIDDEN = 'candidate/hidden_projection'

/**
 * TensorFlow's `CudnnCompatibleGRUCell`, the linear-before-reset GRU that a layer of `CudnnGRU` computes. Variables
 * `gates/kernel` [I+H,2H] and `gates/bias` (starts at 1) in blocks r,u; `candidate/input_projection/` and
 * `candidate/hidden_projection/` `kernel` and `bias`.
 *
 *     r, u = σ([x,h]·W_ru + b_ru)   n = tanh(x·W_i + b_i + r∘(h·W_h + b_h))   h' = (1-u)∘n + u∘h
 *
 * Backward, from ∂h' (output and state together), with q = h·W_h + b_h:
 *
 *     ∂z_n = ∂h'∘(1-u)∘(1-n²)   ∂q = ∂z_n∘r
 *     ∂z_r = ∂z_n∘q∘r(1-r)      ∂z_u = ∂h'∘(h-n)∘u(1-u)   ∂h = ∂h'∘u + ∂q·W_hᵀ + ∂z_ru·W_ruᵀ
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class CudnnCompatibleGRUCell extends RNNCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  readonly #gate: ActivationFunction
  readonly #candidate: ActivationFunction

  constructor(numUnits: number, options: CellOptions & PreactivationClip = {}) {
    checkCellOptions('CudnnCompatibleGRUCell', numUnits, options, { preactivationClip: CLIP })
    super(options.name ?? 'cudnn_compatible_gru_cell', options.dtype)
    this.stateSize = numUnits
    this.outputSize = numUnits
    const clip = clipBound(options.preactivationClip)
    this.#gate = ofBoundedArgument(SIGMOID, clip, this.dtype)
    this.#candidate = ofBoundedArgument(ACTIVATIONS.tanh, clip, this.dtype)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const units = this.stateSize
    return [
      { name: `${GATES}/kernel`, shape: [inputSize + units, 2 * units], initializer: 'glorot_uniform' },
      { name: `${GATES}/bias`, shape: [2 * units], initializer: 1 },
      { name: `${INPUT}/kernel`, shape: [inputSize, units], initializer: 'glorot_uniform' },
      { name: `${INPUT}/bias`, shape: [units], initializer: 0 },
      { name: `${HIDDEN}/kernel`, shape: [units, units], initializer: 'glorot_uniform' },
      { name: `${HIDDEN}/bias`, shape: [units], initializer: 0 },
    ]
  }

  override step(input: FloatTensor, state: FloatTensor, run: CellRun): CellStep<FloatTensor> {
    const [batch, inputSize] = input.shape as [number, number]
    const units = this.stateSize
    const size = batch * units
    const gateKernel = { kernel: entryOf(this.variables, `${GATES}/kernel`), inputSize }
    // The candidate's two products stand alone: kernels whose rows belong to one operand only.
    const inputKernel = { kernel: entryOf(this.variables, `${INPUT}/kernel`), inputSize }
    const hiddenKernel = { kernel: entryOf(this.variables, `${HIDDEN}/kernel`), inputSize: units }
    const x = input.data.slice()
    const h = state.data.slice()
    /** Where the reset gate of state element k lies in [B,2H]; the update gate lies H further. */
    const gate = (k: number) => k + Math.floor(k / units) * units

    const gates = newArray(this.dtype, 2 * size)
    inputSide(run, gates, gateKernel, entryOf(this.variables, `${GATES}/bias`), x)
    addStateSide(run, gates, 0, gateKernel, h, 0, batch)
    for (let k = 0; k < 2 * size; k++) gates[k] = this.#gate.apply(gates[k])
    const candidate = newArray(this.dtype, size)
    inputSide(run, candidate, inputKernel, entryOf(this.variables, `${INPUT}/bias`), x)
    const hiddenProjection = newArray(this.dtype, size)
    inputSide(run, hiddenProjection, hiddenKernel, entryOf(this.variables, `${HIDDEN}/bias`), h)
    const next = newArray(this.dtype, size)
    for (let k = 0; k < size; k++) {
      const u = gates[gate(k) + units]
      candidate[k] = this.#candidate.apply(candidate[k] + gates[gate(k)] * hiddenProjection[k])
      next[k] = (1 - u) * candidate[k] + u * h[k]
    }
    const output = { data: next, shape: [batch, units] }

    const backward = (dOutput: FloatTensor, dState: FloatTensor, gradients: VariableMap) => {
      const dzCandidate = newArray(this.dtype, size)
      const dHiddenProjection = newArray(this.dtype, size)
      const dzGates = newArray(this.dtype, 2 * size)
      const dPrevious = zeros(this.dtype, state.shape)
      for (let k = 0; k < size; k++) {
        const r = gates[gate(k)]
        const u = gates[gate(k) + units]
        const n = candidate[k]
        const dNext = dOutput.data[k] + dState.data[k]
        const dz = dNext * (1 - u) * this.#candidate.slope(n)
        dzCandidate[k] = dz
        dHiddenProjection[k] = dz * r
        dzGates[gate(k)] = dz * hiddenProjection[k] * this.#gate.slope(r)
        dzGates[gate(k) + units] = dNext * (h[k] - n) * this.#gate.slope(u)
        dPrevious.data[k] = dNext * u
      }
      addInputGradient(run, dPrevious.data, hiddenKernel, dHiddenProjection)
      addStateGradient(run, dPrevious.data, gateKernel, dzGates, 0, batch)
      const dInput = zeros(this.dtype, input.shape)
      addInputGradient(run, dInput.data, inputKernel, dzCandidate)
      addInputGradient(run, dInput.data, gateKernel, dzGates)
      const add = (scope: string, columns: number, left: FloatArray, dz: FloatArray) =>
        addKernelGradients(
          run,
          entryOf(gradients, `${scope}/kernel`),
          entryOf(gradients, `${scope}/bias`),
          columns,
          left,
          h,
          dz,
        )
      add(GATES, inputSize, x, dzGates)
      add(INPUT, inputSize, x, dzCandidate)
      add(HIDDEN, units, h, dHiddenProjection)
      return { input: dInput, state: dPrevious }
    }
    return { output: copyTensor(output), state: copyTensor(output), backward }
  }
}
