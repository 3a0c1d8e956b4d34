import { type CodedError, describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { RnnStreamState } from '@cudnn-rnn/ops'

/** Throws TypeError `ERR_NOT_A_STATE` unless `state` has the form of a result of `Stream.state()`. */
export function checkIsState(state: RnnStreamState): void {
  if (typeof state === 'object' && state !== null && 'h' in state) return
  throw codedTypeError(
    'ERR_NOT_A_STATE',
    `Cannot restore the state of a stream as it must be a result of state(): current value is ${describeValue(state)}`,
  )
}

/** The error for changing the carried state under a step that has not finished. */
export function streamBusy(action: string): CodedError<RangeError> {
  return codedRangeError('ERR_STREAM_BUSY', `Cannot ${action} as a step is still running: await step() first.`)
}
