import { checkTensor } from '@cudnn-rnn/ops/executor'
import { type AxisLines, axisLines, checkFloats, emptyLike, type FloatTensor, withoutAxis } from './axis_lines.js'

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
  const { data, shape } = checkFloats('compute log-sum-exp', 'logits', logits)
  const lines = axisLines('compute log-sum-exp', shape, axis)
  const result = emptyLike(data, lines.count)
  for (let line = 0; line < lines.count; line++) result[line] = lineLogSumExp(data, lines, line)
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
  const { data, shape } = checkFloats('compute log-softmax', 'logits', logits)
  const lines = axisLines('compute log-softmax', shape, axis)
  const result = emptyLike(data)
  for (let line = 0; line < lines.count; line++) {
    const offset = lines.offset(line)
    const maximum = lineMaximum(data, lines, line)
    // (logits - max) - log Σ exp(logits - max): the sum of both would lose the small one beside a large maximum.
    let sum = 0
    for (let j = 0; j < lines.length; j++) sum += Math.exp(data[offset + j * lines.stride] - maximum)
    const logSum = Math.log(sum)
    for (let j = 0; j < lines.length; j++) {
      const at = offset + j * lines.stride
      result[at] = data[at] - maximum - logSum
    }
  }
  return { data: result, shape }
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
  const lines = axisLines(action, shape, axis)
  const result = emptyLike(p)
  for (let line = 0; line < lines.count; line++) {
    const offset = lines.offset(line)
    let inner = 0
    for (let j = 0; j < lines.length; j++) inner += g[offset + j * lines.stride] * p[offset + j * lines.stride]
    for (let j = 0; j < lines.length; j++) {
      const at = offset + j * lines.stride
      result[at] = p[at] * (g[at] - inner)
    }
  }
  return { data: result, shape }
}

function lineMaximum(data: FloatTensor['data'], lines: AxisLines, line: number): number {
  const offset = lines.offset(line)
  let maximum = Number.NEGATIVE_INFINITY
  for (let j = 0; j < lines.length; j++) maximum = Math.max(maximum, data[offset + j * lines.stride])
  return maximum
}

function lineLogSumExp(data: FloatTensor['data'], lines: AxisLines, line: number): number {
  const offset = lines.offset(line)
  const maximum = lineMaximum(data, lines, line)
  if (maximum === Number.NEGATIVE_INFINITY) return maximum
  let sum = 0
  for (let j = 0; j < lines.length; j++) sum += Math.exp(data[offset + j * lines.stride] - maximum)
  return maximum + Math.log(sum)
}
