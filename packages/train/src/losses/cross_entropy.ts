import { checkedElsewhere, checkOptions, optional, type OptionsOf, SHARE } from '@cudnn-rnn/canonical/rules'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { checkIdValues, checkShape, checkTensor } from '@cudnn-rnn/ops/executor'
import { checkFloats, elementSum, emptyLike, type FloatTensor } from './axis_lines.js'
import { logSoftmax } from './softmax.js'

const OPTIONS = {
  /** [N…], one factor per row: 0 masks a padded step. The mean divides by their sum, or by N without them. */
  // checkTensor compares it with the shape of the logits.
  weights: checkedElsewhere<FloatTensor | undefined>(),
  /** In 0..1, default 0: this share of every label is spread evenly over the V classes (Szegedy et al. 2016). */
  labelSmoothing: optional(SHARE),
}

interface CrossEntropyOptions extends OptionsOf<typeof OPTIONS> {}

type CrossEntropyResult = {
  /** Mean over the rows that count, natural logarithm; 0 when none counts. */
  readonly loss: number
  /** [N…], each row's own loss, unweighted. */
  readonly rowLosses: FloatTensor
  readonly gradients: {
    /** [N…,V], of `loss`. */
    readonly logits: FloatTensor
    /** [N…,V], of `loss`; for dense labels only. */
    readonly labels?: FloatTensor
  }
}

/**
 * Cross-entropy of logits [N…,V] against dense labels [N…,V] (probabilities), with gradients to both: -Σ labels·log
 * softmax(logits). Unlike TensorFlow's `softmax_cross_entropy_with_logits` of version 1, labels have a gradient.
 *
 * @throws TypeError `ERR_DTYPE`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_SHAPE`,
 *   `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { crossEntropy } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(0, 0, 0, 0), shape: [2, 2] } // [N,V]
 * const labels = { data: Float64Array.of(1, 0, 0.5, 0.5), shape: [2, 2] }
 * const { loss, gradients } = crossEntropy(logits, labels)
 * console.log(loss.toFixed(4), gradients.logits.data) // 0.6931 [-0.25, 0.25, 0, 0]
 * ```
 */
export function crossEntropy(
  logits: FloatTensor,
  labels: FloatTensor,
  options: CrossEntropyOptions = {},
): CrossEntropyResult {
  const { own, given, classes, rows } = checkArguments(logits, options)
  const { data, shape } = checkTensor(ACTION, 'labels', labels, { dtype: own.dtype, shape: own.shape })
  const smoothing = given.labelSmoothing ?? 0
  const smooth = data.map((p) => (1 - smoothing) * p + smoothing / classes)
  const result = meanOverRows(own, smooth as FloatArray, rows, classes, given)
  const labelGradient = emptyLike(own.data)
  for (let k = 0; k < labelGradient.length; k++) {
    const factor = result.rowFactor(Math.floor(k / classes))
    // A masked row keeps its zeros, also when its logits are not finite.
    if (factor !== 0) labelGradient[k] = -(1 - smoothing) * factor * result.logProbabilities[k]
  }
  return {
    loss: result.loss,
    rowLosses: result.rowLosses,
    gradients: { logits: result.gradient, labels: { data: labelGradient, shape } },
  }
}

/**
 * Cross-entropy of logits [N…,V] against class ids [N…]. The same on an executor's memory: `DenseOps.softmaxCrossEntropy`.
 *
 * @throws as {@link crossEntropy}; RangeError `ERR_ID_OUT_OF_RANGE` for a label outside 0..V-1, naming its position
 * @example
 * ```ts
 * import { sparseCrossEntropy } from '@cudnn-rnn/rnn/train'
 *
 * const logits = { data: Float64Array.of(0, 0, 0, 0), shape: [2, 2] } // [N,V]
 * const labels = { data: Int32Array.of(0, 1), shape: [2] }
 * const weights = { data: Float64Array.of(1, 0), shape: [2] } // masks the second row
 * const { loss, gradients } = sparseCrossEntropy(logits, labels, { weights })
 * console.log(loss.toFixed(4), gradients.logits.data) // 0.6931 [-0.5, 0.5, 0, 0]
 * ```
 */
export function sparseCrossEntropy(
  logits: FloatTensor,
  labels: Tensor<Int32Array>,
  options: CrossEntropyOptions = {},
): CrossEntropyResult {
  const { own, given, classes, rows } = checkArguments(logits, options)
  const { data: ids } = checkTensor(ACTION, 'labels', labels, { dtype: 'int32', shape: own.shape.slice(0, -1) })
  checkIdValues(ACTION, 'labels', ids, classes)
  const smoothing = given.labelSmoothing ?? 0
  const dense = emptyLike(own.data).fill(smoothing / classes)
  for (let row = 0; row < rows; row++) dense[row * classes + ids[row]] += 1 - smoothing
  const { loss, rowLosses, gradient } = meanOverRows(own, dense, rows, classes, given)
  return { loss, rowLosses, gradients: { logits: gradient } }
}

const ACTION = 'compute cross-entropy'

function checkArguments(logits: FloatTensor, options: CrossEntropyOptions) {
  const given = checkOptions(ACTION, options, OPTIONS)
  const own = checkFloats(ACTION, 'logits', logits)
  const { data, shape, dtype } = own
  if (shape.length === 0) checkShape(ACTION, 'logits', shape, ['…', 'V'])
  const weights = given.weights && checkTensor(ACTION, 'weights', given.weights, { dtype, shape: shape.slice(0, -1) })
  const classes = shape[shape.length - 1]
  return { own, given: { ...given, weights }, classes, rows: classes === 0 ? 0 : data.length / classes } as const
}

function meanOverRows(
  logits: FloatTensor,
  labels: FloatArray,
  rows: number,
  classes: number,
  { weights }: CrossEntropyOptions,
) {
  const logProbabilities = logSoftmax(logits).data
  const total = weights === undefined ? rows : elementSum(weights.data)
  const rowFactor = (row: number) => (total === 0 ? 0 : (weights?.data[row] ?? 1) / total)
  const losses = emptyLike(logits.data, rows)
  const gradient = emptyLike(logits.data)
  let loss = 0
  for (let row = 0; row < rows; row++) {
    const factor = rowFactor(row)
    let rowLoss = 0
    let mass = 0
    for (let k = row * classes; k < (row + 1) * classes; k++) {
      mass += labels[k]
      // 0·log 0 is 0: a class that has no share cannot make the loss NaN.
      if (labels[k] !== 0) rowLoss -= labels[k] * logProbabilities[k]
    }
    for (let k = row * classes; k < (row + 1) * classes; k++) {
      gradient[k] = factor * (mass * Math.exp(logProbabilities[k]) - labels[k])
    }
    losses[row] = rowLoss
    // A masked row counts for nothing, also when its logits are not finite.
    if (factor === 0) gradient.fill(0, row * classes, (row + 1) * classes)
    else loss += factor * rowLoss
  }
  return {
    loss,
    rowLosses: { data: losses, shape: logits.shape.slice(0, -1) },
    gradient: { data: gradient, shape: logits.shape },
    logProbabilities,
    rowFactor,
  }
}
