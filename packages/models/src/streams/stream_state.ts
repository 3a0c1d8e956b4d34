import type { CodedError } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'

/** The error for changing the carried state under a step that has not finished. */
export function streamBusy(action: string): CodedError<RangeError> {
  return codedRangeError('ERR_STREAM_BUSY', `Cannot ${action} as a step is still running: await step() first.`)
}
