import { floatAt } from '@cudnn-rnn/ops/executor'
import type { CellStep, StepBackward, StepForward } from './cell_step.js'

/**
 * The plain recurrent cell h' = φ(W·x + b_W + R·h + b_R) with φ = tanh or relu; backward ∂a = ∂h∘φ'(a), where φ' is
 * written in terms of h'. Source: cuDNN's `CUDNN_RNN_TANH` and `CUDNN_RNN_RELU`.
 */
function plainStep(activation: (a: number) => number, gradient: (dh: number, h: number) => number): CellStep {
  return {
    savedPerUnit: 1, // h'
    sidesShareGradient: true,

    forward(buffers: StepForward, step: number, savedRow: number, b: number): void {
      const { units, inputSide, recurrentSide, hidden, saved } = buffers
      for (let unit = 0; unit < units; unit++) {
        const h = activation(floatAt(inputSide, step * units + unit) + floatAt(recurrentSide, b * units + unit))
        hidden[b * units + unit] = saved[savedRow * units + unit] = h
      }
    },

    backward(buffers: StepBackward, step: number, b: number): void {
      const { units, saved, hiddenGradient, inputSideGradient, recurrentSideGradient } = buffers
      for (let unit = 0; unit < units; unit++) {
        const da = gradient(floatAt(hiddenGradient, b * units + unit), floatAt(saved, step * units + unit))
        inputSideGradient[step * units + unit] = recurrentSideGradient[b * units + unit] = da
        hiddenGradient[b * units + unit] = 0
      }
    },
  }
}

export const tanhStep = plainStep(Math.tanh, (dh, h) => dh * (1 - h * h))

export const reluStep = plainStep(
  (a) => Math.max(a, 0),
  // A selection: NaN and infinity do not pass a closed unit.
  (dh, h) => (h > 0 ? dh : 0),
)
