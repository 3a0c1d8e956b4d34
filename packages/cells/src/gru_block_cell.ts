import { entryOf } from '@cudnn-rnn/arguments'
import { ACTIVATIONS, type ActivationFunction, ofBoundedArgument, SIGMOID } from './activation.js'
import { type CellOptions, CLIP, checkCellOptions, clipBound, type PreactivationClip } from './cell_options.js'
import type { CellRun } from './cell_run.js'
import type { VariableMap, VariableSpec } from './cell_variables.js'
import { addInputGradient, addKernelGradients, addStateGradient, addStateSide, inputSide } from './concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'
import { type CellStep, RNNCell } from './rnn_cell.js'

/**
 * TensorFlow's `GRUBlockCell`, the GRU that resets before the product (cuDNN's resets after it: see
 * `CudnnCompatibleGRUCell`). Variables `w_ru` [I+H,2H] and `b_ru` (starts at 1) in blocks r,u; `w_c` [I+H,H], `b_c`.
 *
 *     r, u = σ([x,h]·W_ru + b_ru)   c = tanh([x, r∘h]·W_c + b_c)   h' = u∘h + (1-u)∘c
 *
 * Backward, from ∂h' (output and state together):
 *
 *     ∂z_c = ∂h'∘(1-u)∘(1-c²)   ∂(r∘h) = ∂z_c·W_cᵀ
 *     ∂z_r = ∂(r∘h)∘h∘r(1-r)    ∂z_u = ∂h'∘(h-c)∘u(1-u)   ∂h = ∂h'∘u + ∂(r∘h)∘r + ∂z_ru·W_ruᵀ
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export class GRUBlockCell extends RNNCell<FloatTensor> {
  readonly stateSize: number
  readonly outputSize: number
  readonly #gate: ActivationFunction
  readonly #candidate: ActivationFunction

  constructor(numUnits: number, options: CellOptions & PreactivationClip = {}) {
    checkCellOptions('GRUBlockCell', numUnits, options, { preactivationClip: CLIP })
    super(options.name ?? 'gru_cell', options.dtype)
    this.stateSize = numUnits
    this.outputSize = numUnits
    const clip = clipBound(options.preactivationClip)
    this.#gate = ofBoundedArgument(SIGMOID, clip, this.dtype)
    this.#candidate = ofBoundedArgument(ACTIVATIONS.tanh, clip, this.dtype)
  }

  override variableSpecs(inputSize: number): readonly VariableSpec[] {
    const units = this.stateSize
    return [
      { name: 'w_ru', shape: [inputSize + units, 2 * units], initializer: 'glorot_uniform' },
      { name: 'b_ru', shape: [2 * units], initializer: 1 },
      { name: 'w_c', shape: [inputSize + units, units], initializer: 'glorot_uniform' },
      { name: 'b_c', shape: [units], initializer: 0 },
    ]
  }

  override step(input: FloatTensor, state: FloatTensor, run: CellRun): CellStep<FloatTensor> {
    const [batch, inputSize] = input.shape as [number, number]
    const units = this.stateSize
    const size = batch * units
    const gateKernel = { kernel: entryOf(this.variables, 'w_ru'), inputSize }
    const candidateKernel = { kernel: entryOf(this.variables, 'w_c'), inputSize }
    const x = input.data.slice()
    const h = state.data.slice()
    /** Where the reset gate of state element k lies in [B,2H]; the update gate lies H further. */
    const gate = (k: number) => k + Math.floor(k / units) * units

    const gates = newArray(this.dtype, 2 * size)
    inputSide(run, gates, gateKernel, entryOf(this.variables, 'b_ru'), x)
    addStateSide(run, gates, 0, gateKernel, h, 0, batch)
    for (let k = 0; k < 2 * size; k++) gates[k] = this.#gate.apply(gates[k])
    const resetState = h.map((value, k) => gates[gate(k)] * value)
    const candidate = newArray(this.dtype, size)
    inputSide(run, candidate, candidateKernel, entryOf(this.variables, 'b_c'), x)
    addStateSide(run, candidate, 0, candidateKernel, resetState, 0, batch)
    for (let k = 0; k < size; k++) candidate[k] = this.#candidate.apply(candidate[k])
    const next = h.map((value, k) => {
      const u = gates[gate(k) + units]
      return u * value + (1 - u) * candidate[k]
    })
    const output = { data: next, shape: [batch, units] }

    const backward = (dOutput: FloatTensor, dState: FloatTensor, gradients: VariableMap) => {
      const dNext = next.map((_, k) => dOutput.data[k] + dState.data[k])
      const dzCandidate = dNext.map((d, k) => d * (1 - gates[gate(k) + units]) * this.#candidate.slope(candidate[k]))
      const dResetState = newArray(this.dtype, size)
      addStateGradient(run, dResetState, candidateKernel, dzCandidate, 0, batch)
      const dzGates = newArray(this.dtype, 2 * size)
      const dPrevious = zeros(this.dtype, state.shape)
      for (let k = 0; k < size; k++) {
        const r = gates[gate(k)]
        const u = gates[gate(k) + units]
        dzGates[gate(k)] = dResetState[k] * h[k] * this.#gate.slope(r)
        dzGates[gate(k) + units] = dNext[k] * (h[k] - candidate[k]) * this.#gate.slope(u)
        dPrevious.data[k] = dNext[k] * u + dResetState[k] * r
      }
      addStateGradient(run, dPrevious.data, gateKernel, dzGates, 0, batch)
      const dInput = zeros(this.dtype, input.shape)
      addInputGradient(run, dInput.data, candidateKernel, dzCandidate)
      addInputGradient(run, dInput.data, gateKernel, dzGates)
      addKernelGradients(run, entryOf(gradients, 'w_ru'), entryOf(gradients, 'b_ru'), inputSize, x, h, dzGates)
      addKernelGradients(
        run,
        entryOf(gradients, 'w_c'),
        entryOf(gradients, 'b_c'),
        inputSize,
        x,
        resetState,
        dzCandidate,
      )
      return { input: dInput, state: dPrevious }
    }
    return { output: copyTensor(output), state: copyTensor(output), backward }
  }
}
