import type { CellActivation, FloatArray } from '@cudnn-rnn/canonical'
import { addRow, copyRow, elementwiseFunction, matrix, transposed } from '@cudnn-rnn/ops/executor'
import type { CellRun } from '../cell/cell_run.js'
import type { LSTMStateTuple } from '../cell/cell_state.js'
import type { VariableMap } from '../cell/cell_variables.js'
import { type FloatTensor, newArray } from '../cell/float_tensor.js'
import { fusedLSTM } from './fused_lstm.js'
import { type LSTMRule, hiddenSize, type LSTMVariables, lstmVariables } from './lstm_rule.js'
import { lstmSequence, type LSTMArrays, type LSTMBackward } from './lstm_sequence.js'
import type { SequenceOperands, SequencePass } from '../cell/rnn_cell.js'
import { ofBoundedArgument } from '../cell/activation.js'
import { addStateGradient, addStateSide, type ConcatKernel } from '../cell/concat_product.js'
import { type LSTMGateRule, lstmGatesBackward, lstmGatesForward } from './lstm_gates.js'

/**
 * A sequence [T,B,I] under one of TensorFlow's LSTM rules. The executor's kernel computes the plain equation, if it has one;
 * a single step has too little work for the copy of the recurrent matrix that the kernel makes.
 */
export function lstmPass(
  rule: LSTMRule,
  variables: VariableMap,
  sequence: SequenceOperands<LSTMStateTuple>,
): SequencePass<LSTMStateTuple> {
  const { run } = sequence
  const { lstm } = run
  return lstmSequence(variables, sequence, (arrays) => {
    if (lstm === undefined || arrays.time <= 1 || !isPlain(rule)) return lstmLoops(rule, variables, run, arrays)
    const { numUnits, forgetBias } = rule
    const layer = { numUnits, forgetBias, variables, norms: undefined, epsilon: 0, dropout: null }
    return fusedLSTM(lstm, layer, run, arrays)
  })
}

/** Whether a rule has nothing but gates, candidate and forget bias. */
function isPlain(rule: LSTMRule): boolean {
  const { cellClip, usePeepholes, numProj, preactivationClip } = rule
  const clips = [cellClip, preactivationClip]
  return (
    clips.every((clip) => clip === Number.POSITIVE_INFINITY) &&
    !usePeepholes &&
    numProj === null &&
    rule.activation === 'tanh' &&
    rule.recurrentActivation === 'sigmoid' &&
    rule.stateActivation === 'tanh'
  )
}

/** The recurrence of any LSTM rule in TypeScript, with products by the run's executor. A step cell is the case T = 1. */
function lstmLoops(rule: LSTMRule, variables: VariableMap, run: CellRun, arrays: LSTMArrays): LSTMBackward {
  const loops = new LSTMLoops(rule, variables, run, arrays)
  for (let t = 0; t < arrays.time; t++) loops.stepForward(t)
  return (outputs, { c, h }, gradients) => {
    const own = lstmVariables(rule, gradients)
    for (let t = arrays.time - 1; t >= 0; t--) loops.stepBackward(t, outputs, c.data, h.data, own)
  }
}

class LSTMLoops {
  readonly #rule: LSTMGateRule
  readonly #run: CellRun
  readonly #variables: LSTMVariables
  readonly #kernel: ConcatKernel
  readonly #arrays: LSTMArrays
  /** [T·B,H], with a projection */
  readonly #unprojected: FloatArray | undefined
  /** P, or H without projection. */
  readonly #size: number

  constructor(rule: LSTMRule, variables: VariableMap, run: CellRun, arrays: LSTMArrays) {
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
    this.#arrays = arrays
    this.#variables = lstmVariables(rule, variables)
    this.#size = hiddenSize(rule)
    const { kernel } = this.#variables
    this.#kernel = { kernel, inputSize: kernel.shape[0] - this.#size }
    const { time, batch } = arrays
    this.#unprojected = rule.numProj === null ? undefined : newArray(dtype, time * batch * rule.numUnits)
  }

  stepForward(t: number): void {
    const { numUnits } = this.#rule
    const size = this.#size
    const { batch, lengths, gates, cells, hidden } = this.#arrays
    const unprojected = this.#unprojected
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
      lstmGatesForward(this.#rule, peepholes, this.#arrays, row, target, targetBegin)
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

  /**
   * `dc` [B,H] and `dh` [B,P] hold the gradients with respect to the state after step t, then to the state before it.
   */
  stepBackward(t: number, outputGradients: FloatArray, dc: FloatArray, dh: FloatArray, gradients: LSTMVariables): void {
    const { numUnits } = this.#rule
    const { peepholes } = this.#variables
    const size = this.#size
    const { batch, lengths, gates } = this.#arrays
    const stepBegin = t * batch
    const arriving = newArray(this.#run.dtype, batch * size)
    for (let b = 0; b < batch; b++) {
      if (hasEnded(lengths, t, b)) continue
      addRow(dh, b * size, outputGradients, (stepBegin + b) * size, size)
      copyRow(arriving, b * size, dh, b * size, size)
      dh.fill(0, b * size, (b + 1) * size)
    }
    const dm = this.#unprojectedGradient(stepBegin, arriving, gradients.projection)
    for (let b = 0; b < batch; b++) {
      const row = stepBegin + b
      if (hasEnded(lengths, t, b)) {
        gates.fill(0, row * 4 * numUnits, (row + 1) * 4 * numUnits)
        continue
      }
      lstmGatesBackward(this.#rule, peepholes, gradients.peepholes, this.#arrays, row, dm, dc)
    }
    addStateGradient(this.#run, dh, this.#kernel, gates, stepBegin * 4 * numUnits, batch)
  }

  /** ∂m = (∂h', 0 where the clip holds h')·W_projᵀ and ∂W_proj += mᵀ·∂h'; ∂h' itself without projection. */
  #unprojectedGradient(stepBegin: number, dh: FloatArray, projectionGradient: FloatTensor | undefined): FloatArray {
    const { projection } = this.#variables
    const unprojected = this.#unprojected
    if (projection === undefined || unprojected === undefined || projectionGradient === undefined) return dh
    const { numUnits, projClip } = this.#rule
    const size = this.#size
    const { batch, hidden } = this.#arrays
    for (let k = 0; k < dh.length; k++) {
      if (Math.abs(hidden[(stepBegin + batch) * size + k]) >= projClip) dh[k] = 0
    }
    const m = transposed(matrix(unprojected, numUnits, stepBegin * numUnits))
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
