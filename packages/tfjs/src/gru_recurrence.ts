import { type ElementwiseFunction, matrix, transposed } from '@cudnn-rnn/ops/executor'
import { activate } from './activation.js'
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

/**
 * GRUCell, which resets before the product (TensorFlow.js has no other), gates in the order z, r, h:
 *
 *     z, r = σ(x·W + h·R + b)   n = f(x·W_h + (r∘h)·R_h + b_h)   h' = z∘h + (1 - z)∘n
 */
export function gruRecurrence(
  kernels: Kernels,
  o: SequenceOperands,
  gate: ElementwiseFunction,
  candidate: ElementwiseFunction,
): SequencePass {
  const { time, batch, units } = o
  const { products } = kernels
  const [columns, stateSize] = [3 * units, batch * units]
  const gatesSide = matrix(o.recurrentKernel, columns)
  const candidateSide = matrix(o.recurrentKernel, columns, 2 * units)
  const z = inputSide(kernels, o)
  const hidden = hiddenStates(o)
  const reset = new Float32Array(time * stateSize) // r∘h
  for (let t = 0; t < time; t++) {
    const at = t * stateSize
    const gates = matrix(z, columns, t * batch * columns)
    products.addProduct(gates, matrix(hidden, units, at), gatesSide, batch, 2 * units, units)
    for (let b = 0; b < batch; b++) {
      const row = (t * batch + b) * columns
      activate(gate, z, row, 2 * units)
      const h = at + b * units
      for (let k = 0; k < units; k++) reset[h + k] = z[row + units + k] * hidden[h + k]
    }
    const candidates = matrix(z, columns, t * batch * columns + 2 * units)
    products.addProduct(candidates, matrix(reset, units, at), candidateSide, batch, units, units)
    for (let b = 0; b < batch; b++) {
      const row = (t * batch + b) * columns
      activate(candidate, z, row + 2 * units, units)
      const h = at + b * units
      for (let k = 0; k < units; k++) {
        const update = z[row + k]
        const n = z[row + 2 * units + k]
        hidden[h + stateSize + k] = n + update * (hidden[h + k] - n)
      }
    }
    keepMasked(o, t, hidden)
  }
  return {
    hidden,
    finalCells: [],
    backward(outputs, [dh]) {
      const arriving = new Float32Array(stateSize)
      const dReset = new Float32Array(stateSize)
      for (let t = time - 1; t >= 0; t--) {
        takeGradient(o, t, outputs, dh, arriving)
        for (let b = 0; b < batch; b++) {
          const row = (t * batch + b) * columns
          const own = b * units
          const h = (t * batch + b) * units
          if (isMasked(o, t, b)) {
            z.fill(0, row, row + units)
            z.fill(0, row + 2 * units, row + columns)
            continue
          }
          for (let k = 0; k < units; k++) {
            const update = z[row + k]
            const n = z[row + 2 * units + k]
            const arrived = arriving[own + k]
            dh[own + k] += arrived * update
            z[row + k] = arrived * (hidden[h + k] - n) * gate.slope(update)
            z[row + 2 * units + k] = arrived * (1 - update) * candidate.slope(n)
          }
        }
        const gates = matrix(z, columns, t * batch * columns)
        const candidates = matrix(z, columns, t * batch * columns + 2 * units)
        dReset.fill(0)
        products.addProduct(matrix(dReset, units), candidates, transposed(candidateSide), batch, units, units)
        for (let b = 0; b < batch; b++) {
          const row = (t * batch + b) * columns + units
          const own = b * units
          const h = (t * batch + b) * units
          for (let k = 0; k < units; k++) {
            const r = z[row + k]
            const arrived = dReset[own + k]
            dh[own + k] += arrived * r
            z[row + k] = arrived * hidden[h + k] * gate.slope(r)
          }
        }
        products.addProduct(matrix(dh, units), gates, transposed(gatesSide), batch, units, 2 * units)
      }
      const recurrentKernel = new Float32Array(units * columns)
      const ofCandidate = matrix(recurrentKernel, columns, 2 * units)
      addRecurrentGradient(kernels, o, matrix(recurrentKernel, columns), hidden, matrix(z, columns), 2 * units)
      addRecurrentGradient(kernels, o, ofCandidate, reset, matrix(z, columns, 2 * units), units)
      return { recurrentKernel, states: [dh], ...inputGradients(kernels, o, z) }
    },
  }
}
