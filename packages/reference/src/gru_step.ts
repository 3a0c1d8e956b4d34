import { floatAt, sigmoid } from '@cudnn-rnn/ops/executor'
import type { CellStep, StepBackward, StepForward } from './cell_step.js'

/**
 * The GRU cell, linear before reset (the reset gate acts on R_n·h, not on h). With x_k = W_k·x + b_Wk and
 * q_k = R_k·h + b_Rk for the gates k = r, u, n:
 *
 *     r = σ(x_r + q_r)   u = σ(x_u + q_u)   n = tanh(x_n + r∘q_n)   h' = (1-u)∘n + u∘h
 *
 * Source: cuDNN's `CUDNN_GRU`; PyTorch calls u z; TensorFlow's `CudnnCompatibleGRUCell` is the same function.
 *
 * Backward, from ∂h = ∂L/∂h':
 *
 *     ∂n = ∂h∘(1-u)∘(1-n²)      ∂u = ∂h∘(h-n)∘u(1-u)      ∂r = ∂n∘q_n∘r(1-r)
 *     ∂x = (∂r, ∂u, ∂n)         ∂q = (∂r, ∂u, r∘∂n)       ∂h_prev = u∘∂h + Rᵀ·∂q
 */
export const gruStep: CellStep = {
  savedPerUnit: 4, // r, u, n, q_n
  sidesShareGradient: false,

  forward(buffers: StepForward, step: number, savedRow: number, b: number): void {
    const { units, inputSide, recurrentSide, hidden, saved } = buffers
    let x = step * 3 * units
    let q = b * 3 * units
    let s = savedRow * 4 * units
    let h = b * units
    for (let unit = 0; unit < units; unit++, x++, q++, s++, h++) {
      const r = sigmoid(floatAt(inputSide, x) + floatAt(recurrentSide, q))
      const u = sigmoid(floatAt(inputSide, x + units) + floatAt(recurrentSide, q + units))
      const qn = floatAt(recurrentSide, q + 2 * units)
      const n = Math.tanh(floatAt(inputSide, x + 2 * units) + r * qn)
      saved[s] = r
      saved[s + units] = u
      saved[s + 2 * units] = n
      saved[s + 3 * units] = qn
      hidden[h] = (1 - u) * n + u * floatAt(hidden, h)
    }
  },

  backward(buffers: StepBackward, step: number, b: number): void {
    const { units, saved, previousHidden, hiddenGradient, inputSideGradient, recurrentSideGradient } = buffers
    let x = step * 3 * units
    let q = b * 3 * units
    let s = step * 4 * units
    let h = b * units
    let previous = step * units
    for (let unit = 0; unit < units; unit++, x++, q++, s++, h++, previous++) {
      const r = floatAt(saved, s)
      const u = floatAt(saved, s + units)
      const n = floatAt(saved, s + 2 * units)
      const qn = floatAt(saved, s + 3 * units)
      const dh = floatAt(hiddenGradient, h)
      const dn = dh * (1 - u) * (1 - n * n)
      const du = dh * (floatAt(previousHidden, previous) - n) * u * (1 - u)
      const dr = dn * qn * r * (1 - r)
      inputSideGradient[x] = recurrentSideGradient[q] = dr
      inputSideGradient[x + units] = recurrentSideGradient[q + units] = du
      inputSideGradient[x + 2 * units] = dn
      recurrentSideGradient[q + 2 * units] = dn * r
      hiddenGradient[h] = dh * u
    }
  },
}
