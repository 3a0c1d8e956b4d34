import type { Backend, BackendTensor, Rnn } from '@cudnn-rnn/backend'
import { layoutKey, type Summary } from '@cudnn-rnn/canonical'

interface Life {
  readonly ended: boolean
}

/** What a tensor of an executor prints as. */
export function tensorSummary({ shape, dtype, layout, disposed }: BackendTensor): Summary {
  return { kind: 'BackendTensor', shape, dtype, layout, state: stateOf({ ended: disposed }) }
}

/** What a prepared network prints as. */
export function rnnSummary({ descriptor, paramsSize }: Rnn, life: Life): Summary {
  return { kind: 'Rnn', network: layoutKey(descriptor), paramsSize, state: stateOf(life) }
}

/** What an executor prints as. */
export function backendSummary(backend: Backend, life: Life): Summary {
  const { tensors, bytes } = backend.stats()
  return { kind: 'Backend', name: backend.name, dtype: backend.dtype, tensors, bytes, state: stateOf(life) }
}

function stateOf({ ended }: Life): 'live' | 'disposed' {
  return ended ? 'disposed' : 'live'
}
