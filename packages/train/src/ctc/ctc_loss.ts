import {
  checkedElsewhere,
  checkIsObject,
  checkOptions,
  codedRangeError,
  type OptionsOf,
} from '@cudnn-rnn/canonical/rules'
import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import {
  type CtcLabels,
  type CtcLossResult,
  type CtcLossOptions as CtcOperationOptions,
  checkCtcLoss,
  checkIsTensor,
  collapseRepeated,
  type InfeasibleRows,
  paddedLabels,
} from '@cudnn-rnn/ops/executor'
import { blankClass } from './blank.js'
import { CONVENTIONS, type Reduction } from './ctc_convention.js'
import { CTC_LOSS_SETTINGS, type CtcLossSettings } from './ctc_loss_settings.js'

const ACTION = 'compute the CTC loss'
// Tensors and lengths are checked together, as their sizes have to agree.
const LENGTHS = checkedElsewhere<readonly number[] | Int32Array | undefined>()
const OPTIONS = {
  ...CTC_LOSS_SETTINGS,
  /** [T,B,K], time-major. Softmax is part of the loss; log-probabilities give the same, as softmax leaves them. */
  logits: checkedElsewhere<TensorLike>(),
  /** Classes of each row, without blanks. */
  labels: checkedElsewhere<CtcLabels>(),
  /** [B], number of labels in each row of a tensor of labels. Default: its number of columns. */
  labelLengths: LENGTHS,
  /** [B], TensorFlow's `sequence_length`. Default: T for every row. */
  logitLengths: LENGTHS,
}

/** Options of {@link ctcLoss}. */
export interface CtcLossOptions extends CtcLossSettings, OptionsOf<typeof OPTIONS> {}

/**
 * The CTC loss of logits [T,B,K] against label sequences: `tf.nn.ctc_loss` of TensorFlow 1, or
 * `torch.nn.functional.ctc_loss`, with its gradient. Computed by the executor.
 *
 * A row without labels is the probability of blanks alone, as in PyTorch (TensorFlow 1 refuses it). NaN logits of a row
 * give it loss and gradient NaN; logits after a row's length are not read.
 *
 * @returns `loss`, a scalar by `reduction`; `rowLosses` [B], before it; `logitsGradient` [T,B,K], of `loss`
 * @throws TypeError `ERR_CTC_LABELS`, `ERR_NOT_A_TENSOR`, `ERR_DTYPE`, `ERR_FOREIGN_TENSOR`, `ERR_SEQUENCE_LENGTHS`,
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_SHAPE`, `ERR_EMPTY_BATCH`, `ERR_SEQUENCE_LENGTHS`,
 *   `ERR_CTC_BLANK`, `ERR_CTC_LABEL`, `ERR_CTC_LABELS_TOO_LONG`, `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { ctcLoss } from '@cudnn-rnn/rnn/ctc'
 *
 * const backend = await openBackend('reference')
 * const logits = { data: new Float32Array(2 * 1 * 3), shape: [2, 1, 3] } // uniform over two classes and the blank
 * const { loss } = await ctcLoss(backend, { logits, labels: [[0]] })
 * console.log(((await loss.data())[0] ?? 0).toFixed(4)) // 1.0986: three of nine paths spell label 0
 * ```
 */
export async function ctcLoss(backend: Backend, options: CtcLossOptions): Promise<CtcLossResult> {
  checkIsObject(ACTION, 'backend', backend)
  checkIsObject(ACTION, 'backend.ops', backend.ops)
  const own = checkOptions(ACTION, options, OPTIONS)
  const convention = CONVENTIONS[own.convention ?? 'tensorflow']
  const { reduction = convention.reduction } = own
  const given = paddedLabels(ACTION, own.labels, own.labelLengths)
  const logits = checkIsTensor(ACTION, 'logits', own.logits)
  const [time = 0, batch = 0, classes = 0] = logits.shape
  const operation: CtcOperationOptions = {
    logitLengths: own.logitLengths ?? new Int32Array(batch).fill(time),
    labelLengths: given.labelLengths,
    blank: blankClass(own.blank ?? convention.blank, classes),
    mergeRepeated: own.ctcMergeRepeated ?? true,
    infeasible: infeasibleRows(own, convention.infeasible),
  }
  // Checks the labels before they are collapsed.
  const { labelLengths, logitLengths } = checkCtcLoss(backend.dtype, logits, given.labels, operation)
  const isTooLong = Array.from(labelLengths, (length, row) => length > logitLengths[row])
  const ignoresLong = own.ignoreLongerOutputsThanInputs ?? false
  if (convention.refusesLongLabels && !ignoresLong && !own.zeroInfinity) {
    refuseLongLabels(isTooLong, labelLengths, logitLengths)
  }
  const labels = own.preprocessCollapseRepeated ? collapseRepeated(given) : given
  const rowWeights = isTooLong.map((tooLong, row) =>
    ignoresLong && tooLong ? 0 : rowWeight(reduction, labels.labelLengths[row], batch),
  )
  return backend.ops.ctcLoss(logits, labels.labels, { ...operation, labelLengths: labels.labelLengths, rowWeights })
}

function infeasibleRows({ zeroInfinity }: CtcLossOptions, byConvention: InfeasibleRows): InfeasibleRows {
  return zeroInfinity ? 'zero' : byConvention
}

/** The factor of a row's loss in the reduced one. */
function rowWeight(reduction: Reduction, labels: number, batch: number): number {
  switch (reduction) {
    case 'sum':
      return 1
    case 'mean':
      return 1 / batch
    case 'mean_per_label':
      return 1 / Math.max(1, labels) / batch
  }
}

function refuseLongLabels(isTooLong: readonly boolean[], labelLengths: Int32Array, logitLengths: Int32Array): void {
  const row = isTooLong.indexOf(true)
  if (row < 0) return
  throw codedRangeError(
    'ERR_CTC_LABELS_TOO_LONG',
    `Cannot ${ACTION} as labels[${row}] must not be longer than its ${logitLengths[row]} time steps: current number of labels is ${labelLengths[row]}. Set ignoreLongerOutputsThanInputs to leave such rows out.`,
    { row, labels: labelLengths[row], timeSteps: logitLengths[row] },
  )
}
