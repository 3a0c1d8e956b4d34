import type { FloatArray } from '@cudnn-rnn/canonical'
import { floatAt } from './float_at.js'

/** ln(e^a + e^b) */
export function logAddExp(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY) return b
  if (b === Number.NEGATIVE_INFINITY) return a
  return Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))
}

/** out = ln softmax of the logits from `at` on, as many as `out` has elements. */
export function logSoftmaxInto(out: Float64Array, logits: FloatArray, at: number): void {
  let maximum = Number.NEGATIVE_INFINITY
  for (let k = 0; k < out.length; k++) maximum = Math.max(maximum, floatAt(logits, at + k))
  let sum = 0
  for (let k = 0; k < out.length; k++) sum += Math.exp(floatAt(logits, at + k) - maximum)
  const logSum = Math.log(sum)
  // Not minus the sum of both: beside a large maximum the logarithm would lose its digits.
  for (let k = 0; k < out.length; k++) out[k] = floatAt(logits, at + k) - maximum - logSum
}
