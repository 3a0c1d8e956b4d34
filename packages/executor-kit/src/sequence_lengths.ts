import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical'

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
  if (!Array.isArray(lengths) && !(lengths instanceof Int32Array)) {
    throw codedTypeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as sequenceLengths must be an array of integers or an Int32Array: current value is ${typeof lengths}`,
    )
  }
  if (lengths.length !== batch) {
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as sequenceLengths must have one length per batch row (${batch}): current number is ${lengths.length}`,
      { expected: batch, actual: lengths.length },
    )
  }
  for (const [row, length] of lengths.entries()) {
    if (Number.isInteger(length) && length >= 0 && length <= time) continue
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot ${action} as sequenceLengths[${row}] must be an integer in 0..${time}: current value is ${length}`,
      { row, value: length, maximum: time },
    )
  }
  return lengths.every((length) => length === time) ? null : Int32Array.from(lengths)
}
