import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { checkIsHostTensor } from './tensor_arguments.js'

/** The labels of a batch: one array per row, or an int32 tensor [B,S] whose rows are cut by `labelLengths`. */
export type CtcLabels = readonly (readonly number[] | Int32Array)[] | Tensor<Int32Array>

/** Labels as executors take them: [B,S], padded with zeros. */
export interface PaddedLabels {
  readonly labels: Tensor<Int32Array>
  readonly labelLengths: readonly number[] | Int32Array
}

/**
 * Labels of either form as a padded tensor.
 *
 * @param lengths of a tensor's rows, S for each if absent; refused for arrays, which have their own lengths.
 * @throws TypeError `ERR_CTC_LABELS`, `ERR_NOT_A_TENSOR`; RangeError `ERR_SHAPE`
 */
export function paddedLabels(
  action: string,
  labels: CtcLabels,
  lengths: readonly number[] | Int32Array | undefined,
): PaddedLabels {
  if (!Array.isArray(labels)) {
    const tensor = checkIsHostTensor(action, 'labels', labels as Tensor<Int32Array>)
    const [batch = 0, columns = 0] = tensor.shape
    const labelLengths = lengths ?? new Int32Array(batch).fill(columns)
    return { labels: tensor as Tensor<Int32Array>, labelLengths }
  }
  if (lengths !== undefined) {
    throw codedTypeError(
      'ERR_CTC_LABELS',
      `Cannot ${action} as labelLengths go with a tensor of labels: current labels are an array of rows, which have their own lengths`,
      { argument: 'labelLengths' },
    )
  }
  const rows = (labels as readonly (readonly number[] | Int32Array)[]).map((row, index) =>
    integerLabels(action, `labels[${index}]`, row, index),
  )
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0)
  const data = new Int32Array(rows.length * columns)
  for (const [index, row] of rows.entries()) data.set(row, index * columns)
  return { labels: { data, shape: [rows.length, columns] }, labelLengths: rows.map((row) => row.length) }
}

/** TensorFlow's `preprocess_collapse_repeated`: one of every run of equal labels. */
export function collapseRepeated({ labels, labelLengths }: PaddedLabels): PaddedLabels {
  const [, columns = 0] = labels.shape
  return paddedLabels(
    'collapse labels',
    Array.from(labelLengths, (length, row) =>
      labels.data
        .slice(row * columns, row * columns + length)
        .filter((label, k, all) => k === 0 || label !== all[k - 1]),
    ),
    undefined,
  )
}

/** The labels in an array, whose `place` a TypeError `ERR_CTC_LABELS` names for a value that is not an integer of 32 bits. */
export function integerLabels(action: string, place: string, labels: ArrayLike<number>, row?: number): Int32Array {
  const isArray = Array.isArray(labels) || ArrayBuffer.isView(labels)
  const values: number[] = isArray ? Array.prototype.slice.call(labels) : []
  const wrong = values.findIndex((label) => !Number.isInteger(label) || label !== (label | 0))
  if (isArray && wrong < 0) return Int32Array.from(values)
  const rule = isArray ? `${place}[${wrong}] must be an integer` : `${place} must be an array of integers`
  const current = describeValue(isArray ? values[wrong] : labels)
  throw codedTypeError('ERR_CTC_LABELS', `Cannot ${action} as ${rule}: current value is ${current}`, { row })
}
