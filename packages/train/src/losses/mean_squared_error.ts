import { checkTensor } from '@cudnn-rnn/ops/executor'
import { checkFloats, elementSum, emptyLike, type FloatTensor } from './axis_lines.js'

type MeanSquaredErrorResult = {
  readonly loss: number
  /** Gradients of `loss`, shaped as the predictions. */
  readonly gradients: { readonly predictions: FloatTensor; readonly targets: FloatTensor }
}

/**
 * Mean of (predictions - targets)² over all elements, with gradients to both.
 *
 * @param weights factor of each element, 0 masks it; the mean divides by their sum (0 when that is 0).
 * @throws TypeError `ERR_DTYPE`; RangeError `ERR_SHAPE`
 * @example
 * ```ts
 * import { meanSquaredError } from '@cudnn-rnn/rnn/train'
 *
 * const predictions = { data: Float32Array.of(1, 2), shape: [2] }
 * const targets = { data: Float32Array.of(0, 4), shape: [2] }
 * const { loss, gradients } = meanSquaredError(predictions, targets)
 * console.log(loss, gradients.predictions.data) // 2.5 [1, -2]
 * ```
 */
export function meanSquaredError(
  predictions: FloatTensor,
  targets: FloatTensor,
  weights?: FloatTensor,
): MeanSquaredErrorResult {
  const action = 'compute the mean squared error'
  const { shape, dtype } = checkFloats(action, 'predictions', predictions)
  checkTensor(action, 'targets', targets, { dtype, shape })
  if (weights !== undefined) checkTensor(action, 'weights', weights, { dtype, shape })
  const count = weights === undefined ? predictions.data.length : elementSum(weights.data)
  const gradient = emptyLike(predictions.data)
  let loss = 0
  for (let k = 0; k < gradient.length; k++) {
    const factor = count === 0 ? 0 : (weights?.data[k] ?? 1) / count
    if (factor === 0) continue
    const difference = predictions.data[k] - targets.data[k]
    loss += factor * difference * difference
    gradient[k] = 2 * factor * difference
  }
  const negated = gradient.map((g) => -g) as typeof gradient
  return { loss, gradients: { predictions: { data: gradient, shape }, targets: { data: negated, shape } } }
}
