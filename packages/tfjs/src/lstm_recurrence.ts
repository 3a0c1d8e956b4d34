import {
  copyRow,
  type ElementwiseFunction,
  matrix,
  transposed,
  addRow,
  type LstmGateActivation,
} from '@cudnn-rnn/ops/executor'
import type { HostLstm } from '@cudnn-rnn/ops'
import { type ActivationName, activate } from './activation.js'
import {
  addRecurrentGradient,
  hiddenStates,
  inputGradients,
  inputSide,
  isMasked,
  type Kernels,
  keepMasked,
  type SequenceOperands,
  type SequencePass,
  takeGradient,
} from './sequence.js'
import { activeSteps } from './mask.js'

/** The names of the activations of a cell, as TensorFlow.js saves them. */
export interface LstmActivations {
  readonly gateName: ActivationName
  readonly candidateName: ActivationName
  readonly gate: ElementwiseFunction
  readonly candidate: ElementwiseFunction
}

/**
 * LSTMCell:
 *
 *     i, f, o = σ(x·W + h·R + b)   g = f(…)   c' = f∘c + i∘g   h' = o∘f(c')
 *
 * The columns of the kernels are put into TensorFlow 1's order i, g, f, o, in which the executor's kernel computes the
 * recurrence if it has these activations; otherwise loops here do.
 */
export function lstmRecurrence(kernels: Kernels, given: SequenceOperands, activations: LstmActivations): SequencePass {
  const { batch, units, time } = given
  const o: SequenceOperands = {
    ...given,
    kernel: exchanged(given.kernel, units),
    recurrentKernel: exchanged(given.recurrentKernel, units),
  }
  const gates = inputSide(kernels, o)
  const hidden = hiddenStates(o)
  const cells = hiddenStates(o, 1)
  const { gateName, candidateName } = activations
  const isFused =
    kernels.lstm !== undefined && candidateName === 'tanh' && (gateName === 'sigmoid' || gateName === 'hardSigmoid')
  const backward = isFused
    ? fusedLstm(kernels.lstm, o, gateName, { gates, hidden, cells })
    : loops(kernels, o, activations, { gates, hidden, cells })
  return {
    hidden,
    finalCells: [cells.slice(time * batch * units)],
    backward(outputs, [dh, dc]) {
      backward(outputs, dh, dc)
      const recurrentKernel = new Float32Array(o.recurrentKernel.length)
      const columns = 4 * units
      addRecurrentGradient(kernels, o, matrix(recurrentKernel, columns), hidden, matrix(gates, columns), columns)
      const { x, kernel } = inputGradients(kernels, o, gates)
      return {
        x,
        kernel: exchanged(kernel, units),
        recurrentKernel: exchanged(recurrentKernel, units),
        states: [dh, dc],
      }
    },
  }
}

function loops(
  { products }: Kernels,
  o: SequenceOperands,
  { gate, candidate }: LstmActivations,
  { gates, hidden, cells }: LstmArrays,
): LstmBackward {
  const { time, batch, units } = o
  const [columns, stateSize] = [4 * units, batch * units]
  const recurrent = matrix(o.recurrentKernel, columns)
  const activated = new Float32Array(time * stateSize) // f(c')
  for (let t = 0; t < time; t++) {
    const step = matrix(gates, columns, t * batch * columns)
    products.addProduct(step, matrix(hidden, units, t * stateSize), recurrent, batch, columns, units)
    for (let b = 0; b < batch; b++) {
      const row = (t * batch + b) * columns
      activate(gate, gates, row, units)
      activate(candidate, gates, row + units, units)
      activate(gate, gates, row + 2 * units, 2 * units)
      const at = (t * batch + b) * units
      for (let k = 0; k < units; k++) {
        const c = gates[row + 2 * units + k] * cells[at + k] + gates[row + k] * gates[row + units + k]
        const f = candidate.value(c)
        activated[at + k] = f
        cells[at + stateSize + k] = c
        hidden[at + stateSize + k] = gates[row + 3 * units + k] * f
      }
    }
    keepMasked(o, t, hidden)
    keepMasked(o, t, cells)
  }
  return (outputs, dh, dc) => {
    const arriving = new Float32Array(stateSize)
    for (let t = time - 1; t >= 0; t--) {
      takeGradient(o, t, outputs, dh, arriving)
      for (let b = 0; b < batch; b++) {
        const row = (t * batch + b) * columns
        if (isMasked(o, t, b)) gates.fill(0, row, row + columns)
        else stepBackward(t * stateSize, b * units, row)
      }
      products.addProduct(
        matrix(dh, units),
        matrix(gates, columns, t * batch * columns),
        transposed(recurrent),
        batch,
        units,
        columns,
      )
    }

    function stepBackward(step: number, own: number, row: number): void {
      for (let k = 0; k < units; k++) {
        const i = gates[row + k]
        const g = gates[row + units + k]
        const f = gates[row + 2 * units + k]
        const out = gates[row + 3 * units + k]
        const dOut = arriving[own + k]
        const y = activated[step + own + k]
        const dCell = dc[own + k] + dOut * out * candidate.slope(y)
        gates[row + k] = dCell * g * gate.slope(i)
        gates[row + units + k] = dCell * i * candidate.slope(g)
        gates[row + 2 * units + k] = dCell * cells[step + own + k] * gate.slope(f)
        gates[row + 3 * units + k] = dOut * y * gate.slope(out)
        dc[own + k] = dCell * f
      }
    }
  }
}

/** Rows of four gates of H columns with the second and the third exchanged: Keras's i, f, g, o to i, g, f, o and back. */
function exchanged(rows: Float32Array, units: number): Float32Array {
  const result = rows.slice()
  for (let row = 0; row < rows.length; row += 4 * units) {
    copyRow(result, row + units, rows, row + 2 * units, units)
    copyRow(result, row + 2 * units, rows, row + units, units)
  }
  return result
}

/** The arrays of a recurrence over a whole sequence, with the gates in the order i, g, f, o. */
interface LstmArrays {
  /** [T·B,4H]: x·W + b before the forward, the gradients with respect to the pre-activations after the backward. */
  readonly gates: Float32Array
  /** [(T+1)·B,H], the initial h in the first B rows. */
  readonly hidden: Float32Array
  /** [(T+1)·B,H], the initial c in the first B rows. */
  readonly cells: Float32Array
}

/**
 * Leaves the gradients with respect to the pre-activations in the gates.
 *
 * @param outputs [T,B,H]; `dh` and `dc` [B,H] of the final states, on return of the initial ones.
 */
type LstmBackward = (outputs: Float32Array, dh: Float32Array, dc: Float32Array) => void

/** The recurrence, with the activation tanh, by the kernel of an executor. */
function fusedLstm(
  lstm: HostLstm,
  o: SequenceOperands,
  gateActivation: LstmGateActivation,
  arrays: LstmArrays,
): LstmBackward {
  const { time, batch, units, mask } = o
  const cell = { gateActivation, kernel: o.recurrentKernel, kernelBegin: 0, forgetBias: 0, dropout: null, norms: null }
  const operands = { ...cell, time, batch, units }
  if (mask === null) {
    const pass = lstm.forward({ ...operands, ...arrays, lengths: null })
    return (outputs, h, c) => pass.backward({ outputs, h, c, gamma: null, beta: null })
  }

  // The kernel takes lengths and no masks, so the active steps of a row are moved to its front.
  const { counts, lengths } = activeSteps(mask, batch)
  const { gates, hidden, cells } = arrays
  const moved = { gates: new Float32Array(gates.length), hidden: hidden.slice(), cells: cells.slice() }
  const [rows, columns] = [time * batch, 4 * units]
  /** For row n of [T·B], the row of its step among the moved ones; for a masked step, of the active one before. */
  const movedRow = (n: number) => (counts[n] - 1) * batch + (n % batch)
  for (let n = 0; n < rows; n++) {
    if (mask[n] !== 0) copyRow(moved.gates, movedRow(n) * columns, gates, n * columns, columns)
  }
  const pass = lstm.forward({ ...operands, ...moved, lengths })
  // The state after a step is B rows further on than the step. Before the first active step it is the initial one.
  for (let n = 0; n < rows; n++) {
    copyRow(hidden, (n + batch) * units, moved.hidden, (movedRow(n) + batch) * units, units)
    copyRow(cells, (n + batch) * units, moved.cells, (movedRow(n) + batch) * units, units)
  }
  return (outputs, h, c) => {
    const movedOutputs = new Float32Array(outputs.length)
    for (let n = 0; n < rows; n++) {
      // A masked step repeats the output of the active one before.
      if (counts[n] > 0) addRow(movedOutputs, movedRow(n) * units, outputs, n * units, units)
    }
    pass.backward({ outputs: movedOutputs, h, c, gamma: null, beta: null })
    gates.fill(0)
    for (let n = 0; n < rows; n++) {
      if (mask[n] !== 0) copyRow(gates, n * columns, moved.gates, movedRow(n) * columns, columns)
      // Before the first active step the output is the initial h, whose gradient is now in h.
      if (counts[n] === 0) addRow(h, (n % batch) * units, outputs, n * units, units)
    }
  }
}
