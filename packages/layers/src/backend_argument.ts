import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'

/** Throws TypeError `ERR_NOT_A_BACKEND`. */
export function checkIsBackend(action: string, backend: Backend): void {
  if (typeof backend?.rnn === 'function') return
  const given = (backend as unknown) instanceof Promise ? 'a promise: await openBackend() first' : typeof backend
  throw codedTypeError(
    'ERR_NOT_A_BACKEND',
    `Cannot ${action} as backend must be what openBackend() resolves to: current value is ${given}`,
  )
}
