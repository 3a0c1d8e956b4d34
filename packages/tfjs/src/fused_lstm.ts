import type { HostLstm } from '@cudnn-rnn/ops'
import { addRow, copyRow, type LstmGateActivation } from '@cudnn-rnn/ops/executor'
import { activeSteps } from './mask.js'
import type { SequenceOperands } from './sequence.js'

/** The arrays of a recurrence over a whole sequence, with the gates in the order i, g, f, o. */
export interface LstmArrays {
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
export type LstmBackward = (outputs: Float32Array, dh: Float32Array, dc: Float32Array) => void

/** The recurrence, with the activation tanh, by the kernel of an executor. */
export function fusedLstm(
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
