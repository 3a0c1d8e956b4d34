import type { FloatArray } from '@cudnn-rnn/canonical'
import { floatAt } from './float_at.js'

/**
 * Mean cross-entropy of softmax(logits [N,V]) against class labels [N], with its gradient.
 *
 *     loss_n = log Σ_v exp(z_v - max z) - (z_label - max z)      ∂loss_n/∂z = softmax(z) - onehot(label)
 *
 * Subtracting the maximum keeps every exponential in (0, 1]. Rows are weighted by `weights` (1 without them) and the mean
 * divides by the sum of the weights; if that is 0, loss and gradient are 0. A row of weight 0 is not read.
 *
 * @param gradient [N,V], overwritten.
 * @returns the loss
 */
export function softmaxCrossEntropy(
  gradient: FloatArray,
  logits: FloatArray,
  labels: Int32Array,
  weights: FloatArray | undefined,
  classes: number,
): number {
  const rows = labels.length
  let total = weights === undefined ? rows : 0
  for (const weight of weights ?? []) total += weight
  if (total === 0) {
    gradient.fill(0)
    return 0
  }
  let loss = 0
  for (let row = 0; row < rows; row++) {
    const begin = row * classes
    const weight = (weights?.[row] ?? 1) / total
    // Logits of a padded step may hold any value, NaN included.
    if (weight === 0) {
      gradient.fill(0, begin, begin + classes)
      continue
    }
    let maximum = Number.NEGATIVE_INFINITY
    for (let v = 0; v < classes; v++) maximum = Math.max(maximum, floatAt(logits, begin + v))
    let sum = 0
    for (let v = 0; v < classes; v++) {
      const exponential = Math.exp(floatAt(logits, begin + v) - maximum)
      gradient[begin + v] = exponential
      sum += exponential
    }
    const label = begin + labels[row]
    loss += weight * (Math.log(sum) - (floatAt(logits, label) - maximum))
    const scale = weight / sum
    for (let v = 0; v < classes; v++) gradient[begin + v] = floatAt(gradient, begin + v) * scale
    gradient[label] = floatAt(gradient, label) - weight
  }
  return loss
}
