import type { AnyBackendTensor, Backend, Rnn } from '@cudnn-rnn/ops'
import { layoutKey, type Summary } from '@cudnn-rnn/canonical'

interface Life {
  readonly ended: boolean
}

export function tensorSummary({ shape, dtype, layout, disposed }: AnyBackendTensor): Summary {
  return { kind: 'BackendTensor', shape, dtype, layout, state: stateOf({ ended: disposed }) }
}

export function rnnSummary({ descriptor, paramsSize }: Rnn, life: Life): Summary {
  return { kind: 'Rnn', network: layoutKey(descriptor), paramsSize, state: stateOf(life) }
}

export function backendSummary(backend: Backend, life: Life): Summary {
  const { tensors, bytes } = backend.stats()
  return { kind: 'Backend', name: backend.name, dtype: backend.dtype, tensors, bytes, state: stateOf(life) }
}

function stateOf({ ended }: Life): 'live' | 'disposed' {
  return ended ? 'disposed' : 'live'
}
