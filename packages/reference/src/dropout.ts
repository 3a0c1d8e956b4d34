import type { FloatArray } from '@cudnn-rnn/canonical'
import { floatAt, type Philox } from '@cudnn-rnn/ops/executor'

/**
 * Draws one dropout mask: for every element 0 with probability `rate`, else 1/(1-rate), in row-major order, one uniform
 * number each (inverted scaling, so inference needs none). A rate of 1 drops everything.
 */
export function drawDropoutScales(scales: FloatArray, rate: number, random: Philox): FloatArray {
  const kept = rate === 1 ? 0 : 1 / (1 - rate)
  for (let index = 0; index < scales.length; index++) scales[index] = random.uniform() < rate ? 0 : kept
  return scales
}

/** The elementwise product, as a new array of the type of `values`. */
export function scaled(values: FloatArray, scales: FloatArray): FloatArray {
  const product = values.slice()
  for (let index = 0; index < product.length; index++) product[index] = floatAt(product, index) * floatAt(scales, index)
  return product
}
