import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { checkIsHostTensor, checkSequenceLengths, checkShape, checkTensor, tensorDType } from '@cudnn-rnn/ops/executor'
import { type Blank, checkedBlank } from './blank.js'

export interface DecoderArguments {
  /** The elements of logits [T,B,K]. */
  readonly data: FloatArray
  readonly batch: number
  readonly classes: number
  /** [B] */
  readonly lengths: Int32Array
  readonly blank: number
}

/**
 * Checks logits [T,B,K], the lengths of their rows (T for each if null) and the blank.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR` (a backend tensor, too), `ERR_DTYPE`, `ERR_SEQUENCE_LENGTHS`; RangeError
 *   `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`, `ERR_CTC_BLANK`, `ERR_CTC_LOGITS` for NaN
 */
export function checkDecoderArguments(
  action: string,
  given: Tensor,
  sequenceLength: readonly number[] | Int32Array | null,
  blank: Blank,
): DecoderArguments {
  const logits = checkIsHostTensor(action, 'logits', given)
  const dtype = tensorDType(logits) === 'float64' ? 'float64' : 'float32'
  checkTensor(action, 'logits', logits, { dtype })
  checkShape(action, 'logits', logits.shape, ['T', 'B', 'K'])
  const [time, batch, classes] = logits.shape as [number, number, number]
  const lengths = checkSequenceLengths(action, sequenceLength, time, batch) ?? new Int32Array(batch).fill(time)
  const number = checkedBlank(action, blank, classes)
  const data = logits.data as FloatArray
  checkNoNaN(action, data, lengths, classes)
  return { data, batch, classes, lengths, blank: number }
}

/** Steps past a row's length are not read. */
function checkNoNaN(action: string, data: FloatArray, lengths: Int32Array, classes: number): void {
  const batch = lengths.length
  for (const [row, length] of lengths.entries()) {
    for (let t = 0; t < length; t++) {
      const at = (t * batch + row) * classes
      const label = data.subarray(at, at + classes).findIndex(Number.isNaN)
      if (label < 0) continue
      throw codedRangeError(
        'ERR_CTC_LOGITS',
        `Cannot ${action} as logits[${t}][${row}][${label}] must be a number: current value is NaN`,
        { step: t, row, label },
      )
    }
  }
}
