import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'

/**
 * Checks B, the number of sequences that a new stream steps together.
 *
 * @throws RangeError `ERR_INVALID_OPTION` for a batch that is not an integer >= 1
 */
export function checkStreamBatch(batch: number): void {
  if (Number.isSafeInteger(batch) && batch >= 1) return
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot open a stream as batch must be an integer >= 1: current value is ${describeValue(batch)}`,
    { option: 'batch', value: batch },
  )
}
