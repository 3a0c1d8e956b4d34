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

/** SimpleRNNCell: h' = f(x·W + h·R + b). */
export function simpleRecurrence(kernels: Kernels, o: SequenceOperands, activation: ElementwiseFunction): SequencePass {
  const { time, batch, units } = o
  const { products } = kernels
  const stateSize = batch * units
  const recurrent = matrix(o.recurrentKernel, units)
  const z = inputSide(kernels, o)
  const hidden = hiddenStates(o)
  for (let t = 0; t < time; t++) {
    const at = t * stateSize
    products.addProduct(matrix(z, units, at), matrix(hidden, units, at), recurrent, batch, units, units)
    activate(activation, z, at, stateSize)
    hidden.set(z.subarray(at, at + stateSize), at + stateSize)
    keepMasked(o, t, hidden)
  }
  return {
    hidden,
    finalCells: [],
    backward(outputs, [dh]) {
      const arriving = new Float32Array(stateSize)
      for (let t = time - 1; t >= 0; t--) {
        const at = t * stateSize
        takeGradient(o, t, outputs, dh, arriving)
        for (let b = 0; b < batch; b++) {
          const masked = isMasked(o, t, b)
          for (let k = b * units; k < (b + 1) * units; k++) {
            z[at + k] = masked ? 0 : arriving[k] * activation.slope(z[at + k])
          }
        }
        products.addProduct(matrix(dh, units), matrix(z, units, at), transposed(recurrent), batch, units, units)
      }
      const recurrentKernel = new Float32Array(units * units)
      addRecurrentGradient(kernels, o, matrix(recurrentKernel, units), hidden, matrix(z, units), units)
      return { recurrentKernel, states: [dh], ...inputGradients(kernels, o, z) }
    },
  }
}
