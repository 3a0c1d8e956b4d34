import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'

/** The reference executor as one that computes elsewhere would look: without a stepper. */
export function withoutStepper(): Backend {
  const backend = openReferenceBackend()
  const rnn = backend.rnn.bind(backend)
  backend.rnn = (descriptor) => Object.defineProperty(rnn(descriptor), 'stepper', { value: undefined })
  return backend
}
