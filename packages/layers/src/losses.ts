import type { Backend, BackendTensor, ElementLoss, TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkIsBackend } from './backend_argument.js'

/**
 * Losses by TensorFlow's names. The cross-entropies take logits: `softmax_cross_entropy` against class ids,
 * `sigmoid_cross_entropy` against numbers in 0..1 for each output.
 */
export const LOSSES = Object.freeze([
  'softmax_cross_entropy',
  'sigmoid_cross_entropy',
  'mean_squared_error',
  'mean_absolute_error',
] as const)

export type LossName = (typeof LOSSES)[number]

export interface LossResult {
  /** Scalar. */
  readonly loss: BackendTensor
  /** By the model's output. */
  readonly gradient: BackendTensor
}

const ELEMENT_LOSSES: Readonly<Record<Exclude<LossName, 'softmax_cross_entropy'>, ElementLoss>> = {
  sigmoid_cross_entropy: 'sigmoid_cross_entropy',
  mean_squared_error: 'squared_error',
  mean_absolute_error: 'absolute_error',
}

/**
 * The loss of a batch on the executor; nothing is read.
 *
 * @throws TypeError `ERR_NOT_A_BACKEND`, `ERR_DTYPE`, `ERR_NOT_A_TENSOR`; RangeError `ERR_INVALID_OPTION`, `ERR_SHAPE`
 */
export function lossOf(
  backend: Backend,
  loss: LossName,
  output: BackendTensor,
  labels: TensorLike,
  weights: TensorLike | undefined,
): LossResult {
  checkIsBackend('compute a loss', backend)
  checkLoss('compute a loss', loss)
  const { ops } = backend
  if (loss !== 'softmax_cross_entropy') return ops.elementLoss(output, labels, ELEMENT_LOSSES[loss], weights)
  const result = ops.softmaxCrossEntropy(output, labels, weights)
  return { loss: result.loss, gradient: result.logitsGradient }
}

/** Throws RangeError `ERR_INVALID_OPTION`. */
export function checkLoss(action: string, loss: unknown): LossName {
  const known = LOSSES.find((name) => name === loss)
  if (known !== undefined) return known
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as loss must be one of ${LOSSES.join(', ')}: current value is ${describeValue(loss)}`,
    { option: 'loss', value: loss },
  )
}

/** How many rows count, and how many of them have their largest output, or their sign, at the label. */
export function countHits(
  loss: LossName,
  output: Tensor<FloatArray>,
  labels: Tensor,
  weights: Tensor<FloatArray> | undefined,
): { readonly hits: number; readonly total: number } {
  const columns = output.shape.at(-1)!
  const rows = output.data.length / columns
  let [hits, total] = [0, 0]
  for (let n = 0; n < rows; n++) {
    const weight = weights?.data[n] ?? 1
    total += weight
    if (weight === 0) continue
    const row = output.data.subarray(n * columns, (n + 1) * columns)
    if (loss === 'softmax_cross_entropy') hits += weight * Number(indexOfLargest(row) === labels.data[n])
    else if (loss === 'sigmoid_cross_entropy') {
      hits += (weight * row.filter((value, k) => value > 0 === labels.data[n * columns + k] > 0.5).length) / columns
    }
  }
  return { hits, total }
}

function indexOfLargest(row: FloatArray): number {
  let best = 0
  for (let index = 1; index < row.length; index++) if (row[index] > row[best]) best = index
  return best
}
