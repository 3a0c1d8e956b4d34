import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError, methods } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'

const WORDS = 'what openBackend() resolves to'

export const BACKEND = methods(WORDS, 'tensor', 'zeros', 'rnn', 'owns')

/** Throws TypeError `ERR_NOT_A_BACKEND` unless `backend` is an executor. */
export function checkIsBackend(action: string, backend: Backend): void {
  if (typeof backend?.rnn === 'function') return
  const given = backend instanceof Promise ? 'a promise: await openBackend() first' : describeValue(backend)
  throw codedTypeError('ERR_NOT_A_BACKEND', `Cannot ${action} as backend must be ${WORDS}: current value is ${given}`)
}
