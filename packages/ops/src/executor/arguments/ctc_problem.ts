import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  codedTypeError,
  FLAG,
  oneOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import type { FloatDType, TensorLike } from '@cudnn-rnn/ops'
import type { CtcLossOptions, InfeasibleRows } from '../operations/operation_types.js'
import { checkHyperparameter } from './hyperparameter.js'
import { checkLengths } from './sequence_lengths.js'
import { checkIsHostTensor, checkTensor } from './tensor_arguments.js'

/** The checked arguments of one CTC loss, in separate arrays. */
export interface CtcProblem {
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  /** K, the blank included. */
  readonly classes: number
  /** S, the columns of `labels`. */
  readonly maxLabels: number
  /** [B,S]; elements after a row's length are 0. */
  readonly labels: Int32Array
  /** [B], 0..S */
  readonly labelLengths: Int32Array
  /** [B], 0..T */
  readonly logitLengths: Int32Array
  readonly blank: number
  readonly mergeRepeated: boolean
  readonly infeasible: InfeasibleRows
  /** [B] */
  readonly rowWeights: Float64Array
}

const ACTION = 'compute the CTC loss'
// The others are checked below, against the shapes of logits and labels.
const OPTIONS = {
  logitLengths: checkedElsewhere<CtcLossOptions['logitLengths']>(),
  labelLengths: checkedElsewhere<CtcLossOptions['labelLengths']>(),
  blank: checkedElsewhere<number>(),
  mergeRepeated: optional(FLAG),
  infeasible: optional(oneOf(['infinite', 'nan', 'zero'])),
  rowWeights: checkedElsewhere<CtcLossOptions['rowWeights']>(),
}

/**
 * Checks the arguments of `DenseOps.ctcLoss` and copies all but the logits.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`,
 *   `ERR_SEQUENCE_LENGTHS`; RangeError `ERR_SHAPE`, `ERR_EMPTY_BATCH`, `ERR_SEQUENCE_LENGTHS`, `ERR_CTC_BLANK`,
 *   `ERR_CTC_LABEL`, `ERR_INVALID_OPTION`, `ERR_HYPERPARAMETER`
 */
export function checkCtcLoss(
  dtype: FloatDType,
  logits: TensorLike,
  labels: Tensor<Int32Array>,
  options: CtcLossOptions,
): CtcProblem {
  const checked = checkOptions(ACTION, options, OPTIONS)
  checkTensor(ACTION, 'logits', logits, { dtype, shape: ['T', 'B', 'K'] })
  const [time, batch, classes] = logits.shape as [number, number, number]
  if (time === 0 || batch === 0) {
    throw codedRangeError(
      'ERR_EMPTY_BATCH',
      `Cannot ${ACTION} as the logits must have at least one time step and one row: current shape is [${logits.shape.join(',')}]`,
      { actual: logits.shape },
    )
  }
  const given = checkIsHostTensor(ACTION, 'labels', labels)
  checkTensor(ACTION, 'labels', given, { dtype: 'int32', shape: [batch, 'S'] })
  const maxLabels = given.shape[1]
  const { blank, mergeRepeated = true, infeasible = 'infinite', rowWeights } = checked
  checkBlank(blank, classes)
  const lengths = (name: 'labelLengths' | 'logitLengths', maximum: number) =>
    checkLengths(ACTION, name, checked[name], maximum, batch, { argument: name })
  const labelLengths = lengths('labelLengths', maxLabels)
  const logitLengths = lengths('logitLengths', time)
  const own = checkLabels(given.data as Int32Array, labelLengths, { maxLabels, classes, blank })
  const weights = checkRowWeights(rowWeights, batch)
  const sizes = { time, batch, classes, maxLabels }
  return { ...sizes, labels: own, labelLengths, logitLengths, blank, mergeRepeated, infeasible, rowWeights: weights }
}

/** Throws RangeError `ERR_CTC_BLANK` unless `blank` is a class. */
function checkBlank(blank: number, classes: number): void {
  if (Number.isInteger(blank) && blank >= 0 && blank < classes) return
  throw codedRangeError(
    'ERR_CTC_BLANK',
    `Cannot ${ACTION} as the blank must be an integer in 0..${classes - 1}: current value is ${describeValue(blank)}`,
    { value: blank, classes },
  )
}

/** A copy of the labels, zeros after each row's length. */
function checkLabels(
  labels: Int32Array,
  lengths: Int32Array,
  { maxLabels, classes, blank }: { readonly maxLabels: number; readonly classes: number; readonly blank: number },
): Int32Array {
  const checked = new Int32Array(lengths.length * maxLabels)
  for (const [row, length] of lengths.entries()) {
    for (let position = 0; position < length; position++) {
      const label = labels[row * maxLabels + position]
      if (label < 0 || label >= classes || label === blank) {
        throw codedRangeError(
          'ERR_CTC_LABEL',
          `Cannot ${ACTION} as labels[${row}][${position}] must be in 0..${classes - 1} and not the blank ${blank}: current value is ${label}`,
          { row, position, value: label, classes, blank },
        )
      }
      checked[row * maxLabels + position] = label
    }
  }
  return checked
}

function checkRowWeights(weights: CtcLossOptions['rowWeights'], batch: number): Float64Array {
  if (weights === undefined) return new Float64Array(batch).fill(1)
  if (!Array.isArray(weights) && !['Float32Array', 'Float64Array'].includes(arrayTypeOf(weights) ?? '')) {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${ACTION} as rowWeights must be an array of numbers: current value is ${describeValue(weights)}`,
      { option: 'rowWeights' },
    )
  }
  if (weights.length !== batch) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${ACTION} as rowWeights must have one number per batch row (${batch}): current number is ${weights.length}`,
      { argument: 'rowWeights', expected: batch, actual: weights.length },
    )
  }
  const checked = new Float64Array(batch)
  for (let row = 0; row < batch; row++) {
    const weight = weights[row] as number
    checkHyperparameter(ACTION, `rowWeights[${row}]`, weight)
    checked[row] = weight
  }
  return checked
}
