import { axisLines, checkFloats, emptyLike, type FloatTensor, withoutAxis } from './axis_lines.js'
import { logSoftmax } from './softmax.js'

/**
 * Entropy in nats along `axis` (which the result lacks) of the distribution that logits describe: Σ p·(logsumexp - logits).
 *
 * @example
 * ```ts
 * import { entropyFromLogits } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(0, 0, 0, 0), shape: [2, 2] } // two fair coins
 * console.log([...entropyFromLogits(logits).data].map((nats) => nats.toFixed(4))) // ['0.6931', '0.6931']
 * ```
 */
export function entropyFromLogits(given: FloatTensor, axis = -1): FloatTensor {
  const logits = checkFloats('compute entropy', 'logits', given)
  const { count, lineOf } = axisLines('compute entropy', logits.shape, axis)
  const result = emptyLike(logits.data, count)
  for (const [place, logit] of logSoftmax(logits, axis).data.entries()) result[lineOf(place)] -= plogp(logit)
  return { data: result, shape: withoutAxis(logits.shape, axis) }
}

/**
 * Gradient of Σ entropyFromLogits(logits) with respect to the logits: -p·(log p + entropy).
 *
 * @example
 * ```ts
 * import { entropyGradient } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(1, 0), shape: [2] }
 * console.log([...entropyGradient(logits).data].map((slope) => slope.toFixed(4))) // ['-0.1966', '0.1966']
 * ```
 */
export function entropyGradient(given: FloatTensor, axis = -1): FloatTensor {
  const logits = checkFloats('differentiate entropy', 'logits', given)
  const { lineOf } = axisLines('differentiate entropy', logits.shape, axis)
  const { data, shape } = logSoftmax(logits, axis)
  const entropy = entropyFromLogits(logits, axis).data
  const gradient = data.map((logit, place) => -plogp(logit) - Math.exp(logit) * entropy[lineOf(place)])
  return { data: gradient as typeof data, shape }
}

/** p·log p from log p; 0 in the limit of p = 0. */
function plogp(logProbability: number): number {
  const p = Math.exp(logProbability)
  return p === 0 ? 0 : p * logProbability
}
