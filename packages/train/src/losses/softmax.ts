import { checkTensor } from '@cudnn-rnn/ops/executor'
import { axisLines, checkFloats, emptyLike, type FloatTensor, withoutAxis } from './axis_lines.js'

/**
 * log Σ exp(logits) along `axis` (-1 by default), which the result lacks. The maximum is subtracted first, so that no
 * exponential overflows; a line of -∞ alone gives -∞.
 *
 * @throws RangeError `ERR_AXIS`, `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`
 * @example
 * ```ts
 * import { logSumExp } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(1000, 1000), shape: [2] }
 * console.log(logSumExp(logits).data[0]?.toFixed(4)) // 1000.6931
 * ```
 */
export function logSumExp(logits: FloatTensor, axis = -1): FloatTensor {
  const { data, shape, maxima, logSums } = stableSums('compute log-sum-exp', logits, axis)
  const result = emptyLike(data, maxima.length)
  for (const [line, maximum] of maxima.entries()) {
    result[line] = maximum === Number.NEGATIVE_INFINITY ? maximum : maximum + logSums[line]
  }
  return { data: result, shape: withoutAxis(shape, axis) }
}

/**
 * logits - logSumExp(logits): log-probabilities along `axis`. Throws as {@link logSumExp}.
 *
 * @example
 * ```ts
 * import { logSoftmax } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(0, 0, 0, 0), shape: [4] }
 * console.log(logSoftmax(logits).data[0]?.toFixed(4)) // -1.3863
 * ```
 */
export function logSoftmax(logits: FloatTensor, axis = -1): FloatTensor {
  const { data, shape, lineOf, maxima, logSums } = stableSums('compute log-softmax', logits, axis)
  // (logits - max) - log Σ exp(logits - max): the sum of both would lose the small one beside a large maximum.
  const result = data.map((logit, place) => logit - maxima[lineOf(place)] - logSums[lineOf(place)])
  return { data: result as typeof data, shape }
}

/**
 * Probabilities along `axis`; stable for logits of any size. Throws as {@link logSumExp}.
 *
 * @example
 * ```ts
 * import { softmax } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(1000, 1000), shape: [2] }
 * console.log(softmax(logits).data) // [0.5, 0.5]
 * ```
 */
export function softmax(logits: FloatTensor, axis = -1): FloatTensor {
  const { data, shape } = logSoftmax(logits, axis)
  return { data: data.map((value) => Math.exp(value)) as typeof data, shape }
}

/**
 * Gradient of a loss with respect to the logits, from that with respect to `softmax(logits)`: p·(g - Σ g·p) along `axis`.
 *
 * @param probabilities the result of {@link softmax}; `outputGradient` has its shape.
 * @example
 * ```ts
 * import { softmax, softmaxGradient } from '@cudnn-rnn/rnn/train'
 *
 * const probabilities = softmax({ data: Float64Array.of(0, 0), shape: [2] })
 * const outputGradient = { data: Float64Array.of(1, 0), shape: [2] }
 * console.log(softmaxGradient(probabilities, outputGradient).data) // [0.25, -0.25]
 * ```
 */
export function softmaxGradient(probabilities: FloatTensor, outputGradient: FloatTensor, axis = -1): FloatTensor {
  const action = 'differentiate softmax'
  const { data: p, shape, dtype } = checkFloats(action, 'probabilities', probabilities)
  const { data: g } = checkTensor(action, 'outputGradient', outputGradient, { dtype, shape })
  const { count, lineOf } = axisLines(action, shape, axis)
  const inner = new Float64Array(count)
  for (let place = 0; place < p.length; place++) inner[lineOf(place)] += g[place] * p[place]
  return { data: p.map((share, place) => share * (g[place] - inner[lineOf(place)])) as typeof p, shape }
}

/** The maximum of each line, and log Σ exp(logits - maximum). */
function stableSums(action: string, logits: FloatTensor, axis: number) {
  const { data, shape } = checkFloats(action, 'logits', logits)
  const { count, lineOf } = axisLines(action, shape, axis)
  const maxima = new Float64Array(count).fill(Number.NEGATIVE_INFINITY)
  const sums = new Float64Array(count)
  for (let place = 0; place < data.length; place++) {
    const line = lineOf(place)
    maxima[line] = Math.max(maxima[line], data[place])
  }
  for (let place = 0; place < data.length; place++) {
    const line = lineOf(place)
    sums[line] += Math.exp(data[place] - maxima[line])
  }
  return { data, shape, lineOf, maxima, logSums: sums.map(Math.log) }
}
