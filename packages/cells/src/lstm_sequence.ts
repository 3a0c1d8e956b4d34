import type { CellActivation, FloatArray } from '@cudnn-rnn/canonical'
import { addRow, copyRow, elementwiseFunction, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { ofBoundedArgument } from './activation.js'
import type { CellRun } from './cell_run.js'
import type { LSTMStateTuple } from './cell_state.js'
import type { VariableMap } from './cell_variables.js'
import {
  addInputGradient,
  addKernelGradients,
  addStateGradient,
  addStateSide,
  type ConcatKernel,
  inputSide,
} from './concat_product.js'
import { copyTensor, type FloatTensor, newArray, zeros } from './float_tensor.js'
import { type LSTMGateRule, lstmGatesBackward, lstmGatesForward } from './lstm_gates.js'
import { hiddenSize, type LSTMRule, type LSTMVariables, lstmVariables } from './lstm_rule.js'
import { withoutPadding } from './sequence_layout.js'

/** A sequence computed by one LSTM, and its backward. */
export interface LSTMSequence {
  /** [T,B,P], zero past each row's length. */
  readonly outputs: FloatTensor
  readonly state: LSTMStateTuple
  backward(
    outputs: FloatTensor,
    state: LSTMStateTuple,
    variableGradients: VariableMap,
  ): { readonly inputs: FloatTensor; readonly state: LSTMStateTuple }
}

/** State from the forward to the backward; step t reads rows [t·B, (t+1)·B) and writes one B further in the two states. */
interface LSTMIntermediates {
  readonly inputs: FloatArray // [T·B,I]
  readonly gates: FloatArray // [T·B,4H]: i, g, f, o
  readonly cells: FloatArray // [(T+1)·B,H]
  readonly hidden: FloatArray // [(T+1)·B,P]
  readonly unprojected: FloatArray | undefined // [T·B,H], with a projection
}

/**
 * The LSTM of every class here over a whole sequence: one product for the input side of all steps, then the recurrence. A
 * step cell is the case T = 1. A row of the batch that has ended carries its state on and puts out zeros.
 */
export class LSTMLayer {
  readonly #rule: LSTMGateRule
  readonly #run: CellRun
  readonly #inputSize: number
  readonly #variables: LSTMVariables

  constructor(rule: LSTMRule, variables: VariableMap, inputSize: number, run: CellRun) {
    const { dtype } = run
    // Clips as the dtype holds them, so that a stored state that was clipped compares equal to its clip.
    const clips = newArray(dtype, 2)
    clips.set([rule.cellClip, rule.projClip])
    const [cellClip, projClip] = [clips[0], clips[1]]
    const bounded = (activation: CellActivation) => {
      return ofBoundedArgument(elementwiseFunction(activation), rule.preactivationClip, dtype)
    }
    this.#rule = {
      ...rule,
      cellClip,
      projClip,
      gate: bounded(rule.recurrentActivation),
      candidate: bounded(rule.activation),
      output: elementwiseFunction(rule.stateActivation),
    }
    this.#run = run
    this.#inputSize = inputSize
    this.#variables = lstmVariables(rule, variables)
  }

  /** @param inputs [T,B,I]; `lengths` null when every row has T steps. */
  forward(inputs: FloatTensor, state: LSTMStateTuple, lengths: Int32Array | null): LSTMSequence {
    const [time, batch] = inputs.shape as [number, number, number]
    const { numUnits, numProj } = this.#rule
    const size = hiddenSize(this.#rule)
    const allocate = (length: number) => newArray(this.#run.dtype, length)
    const intermediates: LSTMIntermediates = {
      inputs: withoutPadding(inputs, lengths).data,
      gates: allocate(time * batch * 4 * numUnits),
      cells: allocate((time + 1) * batch * numUnits),
      hidden: allocate((time + 1) * batch * size),
      unprojected: numProj === null ? undefined : allocate(time * batch * numUnits),
    }
    intermediates.cells.set(state.c.data)
    intermediates.hidden.set(state.h.data)
    inputSide(this.#run, intermediates.gates, this.#kernel, this.#variables.bias, intermediates.inputs)
    for (let t = 0; t < time; t++) this.#stepForward(intermediates, t, batch, lengths)
    const outputs = { data: intermediates.hidden.slice(batch * size), shape: [time, batch, size] }
    return {
      outputs: withoutPadding(outputs, lengths),
      state: {
        c: { data: intermediates.cells.slice(time * batch * numUnits), shape: [batch, numUnits] },
        h: { data: intermediates.hidden.slice(time * batch * size), shape: [batch, size] },
      },
      backward: (outputGradients, stateGradients, variableGradients) =>
        this.#backward(intermediates, time, batch, lengths, outputGradients, stateGradients, variableGradients),
    }
  }

  get #kernel(): ConcatKernel {
    return { kernel: this.#variables.kernel, inputSize: this.#inputSize }
  }

  #stepForward(intermediates: LSTMIntermediates, t: number, batch: number, lengths: Int32Array | null): void {
    const { numUnits } = this.#rule
    const size = hiddenSize(this.#rule)
    const { gates, cells, hidden, unprojected } = intermediates
    const { peepholes, projection } = this.#variables
    const stepBegin = t * batch
    const nextBegin = stepBegin + batch
    addStateSide(this.#run, gates, stepBegin * 4 * numUnits, this.#kernel, hidden, stepBegin * size, batch)
    for (let b = 0; b < batch; b++) {
      const row = stepBegin + b
      const next = nextBegin + b
      if (hasEnded(lengths, t, b)) {
        copyRow(cells, next * numUnits, cells, row * numUnits, numUnits)
        continue
      }
      const target = unprojected ?? hidden
      const targetBegin = (unprojected === undefined ? next : row) * numUnits
      lstmGatesForward(
        this.#rule,
        peepholes,
        gates,
        row * 4 * numUnits,
        cells,
        row * numUnits,
        next * numUnits,
        target,
        targetBegin,
      )
    }
    if (unprojected !== undefined && projection !== undefined) {
      // h' = clip(m·W_proj)
      const from = matrix(unprojected, numUnits, stepBegin * numUnits)
      this.#run.products.addProduct(
        matrix(hidden, size, nextBegin * size),
        from,
        matrix(projection.data, size),
        batch,
        size,
        numUnits,
      )
      for (let k = nextBegin * size; k < (nextBegin + batch) * size; k++) {
        hidden[k] = Math.min(this.#rule.projClip, Math.max(-this.#rule.projClip, hidden[k]))
      }
    }
    for (let b = 0; b < batch; b++) {
      if (hasEnded(lengths, t, b)) copyRow(hidden, (nextBegin + b) * size, hidden, (stepBegin + b) * size, size)
    }
  }

  #backward(
    intermediates: LSTMIntermediates,
    time: number,
    batch: number,
    lengths: Int32Array | null,
    outputGradients: FloatTensor,
    stateGradients: LSTMStateTuple,
    variableGradients: VariableMap,
  ) {
    const gradients = lstmVariables(this.#rule, variableGradients)
    const c = copyTensor(stateGradients.c)
    const h = copyTensor(stateGradients.h)
    const dGates = newArray(this.#run.dtype, intermediates.gates.length)
    for (let t = time - 1; t >= 0; t--) {
      this.#stepBackward(intermediates, t, batch, lengths, outputGradients.data, c.data, h.data, dGates, gradients)
    }
    const read = intermediates.hidden.subarray(0, time * batch * hiddenSize(this.#rule))
    addKernelGradients(this.#run, gradients.kernel, gradients.bias, this.#inputSize, intermediates.inputs, read, dGates)
    const inputs = zeros(this.#run.dtype, [time, batch, this.#inputSize])
    addInputGradient(this.#run, inputs.data, this.#kernel, dGates)
    return { inputs, state: { c, h } }
  }

  /**
   * `dc` [B,H] and `dh` [B,P] hold the gradients with respect to the state after step t, then to the state before it.
   */
  #stepBackward(
    intermediates: LSTMIntermediates,
    t: number,
    batch: number,
    lengths: Int32Array | null,
    outputGradients: FloatArray,
    dc: FloatArray,
    dh: FloatArray,
    dGates: FloatArray,
    gradients: LSTMVariables,
  ): void {
    const { numUnits } = this.#rule
    const size = hiddenSize(this.#rule)
    const stepBegin = t * batch
    const nextBegin = stepBegin + batch
    const arriving = newArray(this.#run.dtype, batch * size)
    for (let b = 0; b < batch; b++) {
      if (hasEnded(lengths, t, b)) continue
      addRow(dh, b * size, outputGradients, (stepBegin + b) * size, size)
      copyRow(arriving, b * size, dh, b * size, size)
      dh.fill(0, b * size, (b + 1) * size)
    }
    const dm = this.#unprojectedGradient(intermediates, stepBegin, batch, arriving, gradients.projection)
    for (let b = 0; b < batch; b++) {
      if (hasEnded(lengths, t, b)) continue
      const row = stepBegin + b
      lstmGatesBackward(
        this.#rule,
        this.#variables.peepholes,
        gradients.peepholes,
        intermediates.gates,
        dGates,
        row * 4 * numUnits,
        intermediates.cells,
        row * numUnits,
        (nextBegin + b) * numUnits,
        dm,
        dc,
        b * numUnits,
      )
    }
    addStateGradient(this.#run, dh, this.#kernel, dGates, stepBegin * 4 * numUnits, batch)
  }

  /** ∂m = (∂h', 0 where the clip holds h')·W_projᵀ and ∂W_proj += mᵀ·∂h'; ∂h' itself without projection. */
  #unprojectedGradient(
    intermediates: LSTMIntermediates,
    stepBegin: number,
    batch: number,
    dh: FloatArray,
    projectionGradient: FloatTensor | undefined,
  ): FloatArray {
    const { projection } = this.#variables
    if (projection === undefined || intermediates.unprojected === undefined || projectionGradient === undefined)
      return dh
    const { numUnits } = this.#rule
    const size = hiddenSize(this.#rule)
    for (let k = 0; k < dh.length; k++) {
      if (Math.abs(intermediates.hidden[(stepBegin + batch) * size + k]) >= this.#rule.projClip) dh[k] = 0
    }
    const m = transposed(matrix(intermediates.unprojected, numUnits, stepBegin * numUnits))
    this.#run.products.addProduct(matrix(projectionGradient.data, size), m, matrix(dh, size), numUnits, size, batch)
    const dm = newArray(this.#run.dtype, batch * numUnits)
    const weights = transposed(matrix(projection.data, size))
    this.#run.products.addProduct(matrix(dm, numUnits), matrix(dh, size), weights, batch, numUnits, size)
    return dm
  }
}

function hasEnded(lengths: Int32Array | null, t: number, b: number): boolean {
  return lengths !== null && t >= lengths[b]
}
