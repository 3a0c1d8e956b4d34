import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'

/** Throws TypeError `ERR_NOT_A_BACKEND` unless `backend` is an executor. */
export function checkIsBackend(action: string, backend: Backend): void {
  if (typeof backend?.rnn === 'function') return
  const given = backend instanceof Promise ? 'a promise: await openBackend() first' : describeValue(backend)
  throw codedTypeError(
    'ERR_NOT_A_BACKEND',
    `Cannot ${action} as backend must be a result of openBackend(): current value is ${given}`,
  )
}
