import type { AdamOptions, MomentumOptions } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'

/** θ ← θ + scale·g (SGD with scale = -learningRate; gradient accumulation with 1). */
export function addScaled(variable: FloatArray, gradient: FloatArray, scale: number): void {
  for (let index = 0; index < variable.length; index++) variable[index]! += scale * gradient[index]!
}

/** v ← μ·v + g;  θ ← θ - lr·v, or with Nesterov's look-ahead θ ← θ - lr·(g + μ·v). TensorFlow's `ApplyMomentum`. */
export function applyMomentum(
  variable: FloatArray,
  velocity: FloatArray,
  gradient: FloatArray,
  { learningRate, momentum, nesterov = false }: MomentumOptions,
): void {
  for (let index = 0; index < variable.length; index++) {
    const g = gradient[index]!
    const v = momentum * velocity[index]! + g
    velocity[index] = v
    variable[index]! -= learningRate * (nesterov ? g + momentum * v : v)
  }
}

/** Adam, Kingma & Ba 2015, algorithm 1: ε is added to the root of the bias-corrected second moment, as PyTorch does. */
export function applyAdam(
  variable: FloatArray,
  firstMoment: FloatArray,
  secondMoment: FloatArray,
  gradient: FloatArray,
  { learningRate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, step }: AdamOptions,
): void {
  const correction1 = 1 - beta1 ** step
  const correction2 = 1 - beta2 ** step
  for (let index = 0; index < variable.length; index++) {
    const g = gradient[index]!
    const m = beta1 * firstMoment[index]! + (1 - beta1) * g
    const v = beta2 * secondMoment[index]! + (1 - beta2) * g * g
    firstMoment[index] = m
    secondMoment[index] = v
    variable[index]! -= (learningRate * (m / correction1)) / (Math.sqrt(v / correction2) + epsilon)
  }
}
