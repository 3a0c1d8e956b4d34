import type { FloatDType } from '@cudnn-rnn/backend'
import { sigmoid } from '@cudnn-rnn/executor-kit'
import { newArray } from './float_tensor.js'

/** A function, and its slope written in the function's own result y. */
export interface ActivationFunction {
  apply(x: number): number
  slope(y: number): number
}

/** Activations of the cells that let one choose. */
export const ACTIVATIONS = Object.freeze({
  tanh: { apply: Math.tanh, slope: (y: number) => 1 - y * y },
  // NaN stays, as on executors.
  relu: { apply: (x: number) => (x < 0 ? 0 : x), slope: (y: number) => (y > 0 ? 1 : 0) },
} as const satisfies Readonly<Record<string, ActivationFunction>>)

export type Activation = keyof typeof ACTIVATIONS

/** The activation of gates. */
export const SIGMOID: ActivationFunction = Object.freeze({ apply: sigmoid, slope: (y: number) => y * (1 - y) })

/**
 * `activation` of an argument bounded to [-clip, clip]; where the bound holds, the slope is 0. Source: the attribute `clip`
 * of ONNX's recurrent operators (onnx/defs/rnn/defs.cc), as ONNX Runtime computes it.
 *
 * @param clip Infinity for none.
 * @param dtype of the results passed to `slope`: those at the bound compare equal to it.
 */
export function ofBoundedArgument(activation: ActivationFunction, clip: number, dtype: FloatDType): ActivationFunction {
  if (clip === Number.POSITIVE_INFINITY) return activation
  const { apply, slope } = activation
  const bounds = newArray(dtype, 2)
  bounds.set([apply(-clip), apply(clip)])
  const [lowest, highest] = [bounds[0], bounds[1]]
  return {
    apply: (x) => apply(Math.min(clip, Math.max(-clip, x))),
    slope: (y) => (y <= lowest || y >= highest ? 0 : slope(y)),
  }
}
