import { describeValue } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, codedTypeError, liveLength } from '@cudnn-rnn/canonical/rules'

/**
 * Checks sequence lengths (one in 0..T per batch row, any order) and copies them; null stays null, and lengths that are
 * all T become null, so that executors take their full-length path.
 *
 * @throws TypeError `ERR_SEQUENCE_LENGTHS` for anything but an array of integers
 * @throws RangeError `ERR_SEQUENCE_LENGTHS` for a wrong count or a length outside 0..T, naming the row
 */
export function checkSequenceLengths(
  action: string,
  lengths: readonly number[] | Int32Array | null,
  time: number,
  batch: number,
): Int32Array | null {
  if (lengths === null) return null
  // The option is `sequenceLengths`, `sequenceLength` or `lengths`, as TensorFlow's functions and ours have it.
  const checked = checkLengths(action, 'lengths', lengths, time, batch)
  return checked.every((length) => length === time) ? null : checked
}

/**
 * A copy of one length per row, each in 0..maximum.
 *
 * @param place fields of the errors that name the argument
 * @throws as {@link checkSequenceLengths}
 */
export function checkLengths(
  action: string,
  name: string,
  lengths: readonly number[] | Int32Array,
  maximum: number,
  batch: number,
  place: { readonly argument?: string } = {},
): Int32Array {
  const count = countOf(lengths)
  if (count === undefined) {
    throw codedTypeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as ${name} must be an array of integers or an Int32Array: current value is ${describeValue(lengths)}`,
      place,
    )
  }
  if (count !== batch) {
    const advice = count === maximum ? `. Its input has ${maximum} steps: the first axis is time, [T,B,…]` : ''
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as ${name} must have one length per batch row (${batch}): current number is ${count}${advice}`,
      { ...place, expected: batch, actual: count },
    )
  }
  const checked = new Int32Array(batch)
  for (let row = 0; row < batch; row++) {
    // Read once: a caller's array may be written by others, or answer differently the next time.
    const length = lengths[row] as number
    if (Number.isInteger(length) && length >= 0 && length <= maximum) {
      checked[row] = length
      continue
    }
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as ${name}[${row}] must be an integer in 0..${maximum}: current value is ${describeValue(length)}`,
      { ...place, row, value: length, maximum },
    )
  }
  return checked
}

/** The number of lengths, or undefined unless the value is a list of integers. */
function countOf(lengths: readonly number[] | Int32Array): number | undefined {
  if (arrayTypeOf(lengths) === 'Int32Array') return liveLength(lengths as Int32Array)
  return Array.isArray(lengths) ? lengths.length : undefined
}
