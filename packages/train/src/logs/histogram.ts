import { checkArguments, NUMBERS } from '@cudnn-rnn/canonical/rules'
/** Fields of TensorFlow's HistogramProto: moments, and counts of values up to each limit. */
export type Histogram = {
  readonly min: number
  readonly max: number
  readonly num: number
  readonly sum: number
  readonly sumSquares: number
  /** Upper limits of the buckets, growing. */
  readonly limits: readonly number[]
  readonly counts: readonly number[]
}

const BUCKETS = 30

/**
 * Counts finite values in 30 buckets of equal width; NaN and infinities are left out.
 *
 * @example
 * ```ts
 * import { histogramOf } from '@cudnn-rnn/rnn/train'
 *
 * const { min, max, num, counts } = histogramOf([1, 2, 2, Number.NaN])
 * console.log(min, max, num, counts.length) // 1 2 3 30
 * ```
 */
export function histogramOf(values: ArrayLike<number>): Histogram {
  const { values: own } = checkArguments('count values', { values }, { values: NUMBERS })
  let [min, max, num, sum, sumSquares] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0, 0]
  for (let k = 0; k < own.length; k++) {
    const value = own[k]
    if (!Number.isFinite(value)) continue
    min = Math.min(min, value)
    max = Math.max(max, value)
    num++
    sum += value
    sumSquares += value * value
  }
  if (num === 0) return { min: 0, max: 0, num, sum, sumSquares, limits: [0], counts: [0] }
  // Half of each value if the distance of the extremes overflows.
  const scale = Number.isFinite(max - min) ? 1 : 0.5
  const width = (max * scale - min * scale) / BUCKETS
  if (width === 0) {
    // A single value needs a bucket whose width is not zero.
    const above = max + Math.max(1, Math.abs(max) * 2 * Number.EPSILON)
    return { min, max, num, sum, sumSquares, limits: [max, above], counts: [num, 0] }
  }
  const counts = new Array<number>(BUCKETS).fill(0)
  for (let k = 0; k < own.length; k++) {
    const value = own[k]
    if (!Number.isFinite(value)) continue
    counts[Math.min(BUCKETS - 1, Math.floor((value * scale - min * scale) / width))]++
  }
  const limits = counts.map((_, k) => (k === BUCKETS - 1 ? max : (min * scale + (k + 1) * width) / scale))
  return { min, max, num, sum, sumSquares, limits, counts }
}
