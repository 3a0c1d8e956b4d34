import { floatAt, sigmoid } from '@cudnn-rnn/ops/executor'
import type { CellStep, StepBackward, StepForward } from './cell_step.js'

/**
 * The LSTM cell. With a_k = W_k·x + b_Wk + R_k·h + b_Rk for the gates k = i, f, g, o:
 *
 *     i = σ(a_i)   f = σ(a_f)   g = tanh(a_g)   o = σ(a_o)
 *     c' = clip(f∘c + i∘g)      h' = o∘tanh(c')
 *
 * Source: cuDNN's `CUDNN_LSTM`; TensorFlow's `CudnnLSTM` calls g the new memory. No forget bias is added.
 *
 * Backward, from ∂h = ∂L/∂h' and ∂c = ∂L/∂c' that arrive from the step after:
 *
 *     ∂a_o = ∂h∘tanh(c')∘o(1-o)
 *     ∂c  += ∂h∘o∘(1 - tanh²(c')), and 0 if the clip holds c'
 *     ∂a_i = ∂c∘g∘i(1-i)   ∂a_f = ∂c∘c∘f(1-f)   ∂a_g = ∂c∘i∘(1-g²)
 *     ∂c_prev = ∂c∘f       ∂h_prev = Rᵀ·∂a
 */
export const lstmStep: CellStep = {
  savedPerUnit: 6, // i, f, g, o, c', c
  sidesShareGradient: true,

  forward(buffers: StepForward, step: number, savedRow: number, b: number): void {
    const { units, cellClip, inputSide, recurrentSide, cell, hidden, saved } = buffers
    let x = step * 4 * units
    let r = b * 4 * units
    let s = savedRow * 6 * units
    let u = b * units
    for (let unit = 0; unit < units; unit++, x++, r++, s++, u++) {
      const i = sigmoid(floatAt(inputSide, x) + floatAt(recurrentSide, r))
      const f = sigmoid(floatAt(inputSide, x + units) + floatAt(recurrentSide, r + units))
      const g = Math.tanh(floatAt(inputSide, x + 2 * units) + floatAt(recurrentSide, r + 2 * units))
      const o = sigmoid(floatAt(inputSide, x + 3 * units) + floatAt(recurrentSide, r + 3 * units))
      const c = floatAt(cell, u)
      const next = Math.min(cellClip, Math.max(-cellClip, f * c + i * g))
      saved[s] = i
      saved[s + units] = f
      saved[s + 2 * units] = g
      saved[s + 3 * units] = o
      saved[s + 4 * units] = next
      saved[s + 5 * units] = c
      cell[u] = next
      hidden[u] = o * Math.tanh(next)
    }
  },

  backward(buffers: StepBackward, step: number, b: number): void {
    const { units, cellClip, saved, hiddenGradient, cellGradient, inputSideGradient, recurrentSideGradient } = buffers
    let x = step * 4 * units
    let r = b * 4 * units
    let s = step * 6 * units
    let u = b * units
    for (let unit = 0; unit < units; unit++, x++, r++, s++, u++) {
      const i = floatAt(saved, s)
      const f = floatAt(saved, s + units)
      const g = floatAt(saved, s + 2 * units)
      const o = floatAt(saved, s + 3 * units)
      const next = floatAt(saved, s + 4 * units)
      const c = floatAt(saved, s + 5 * units)
      const tanhNext = Math.tanh(next)
      const dh = floatAt(hiddenGradient, u)
      const unclipped = floatAt(cellGradient, u) + dh * o * (1 - tanhNext * tanhNext)
      const dc = Math.abs(next) >= cellClip ? 0 : unclipped
      const di = dc * g * i * (1 - i)
      const df = dc * c * f * (1 - f)
      const dg = dc * i * (1 - g * g)
      const da = dh * tanhNext * o * (1 - o)
      inputSideGradient[x] = recurrentSideGradient[r] = di
      inputSideGradient[x + units] = recurrentSideGradient[r + units] = df
      inputSideGradient[x + 2 * units] = recurrentSideGradient[r + 2 * units] = dg
      inputSideGradient[x + 3 * units] = recurrentSideGradient[r + 3 * units] = da
      cellGradient[u] = dc * f
      hiddenGradient[u] = 0
    }
  },
}
