import type { AnyBackendTensor, Backend, Rnn } from '@cudnn-rnn/backend'
import { layoutKey, type Summary } from '@cudnn-rnn/canonical'

interface Life {
  readonly ended: boolean
}

/**
 * Printed form of an executor's tensor.
 *
 * @example
 * ```ts
 * import { tensorSummary } from '@cudnn-rnn/executor-kit'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * console.log(tensorSummary(backend.zeros([2, 3])).shape) // [2, 3]
 * ```
 */
export function tensorSummary({ shape, dtype, layout, disposed }: AnyBackendTensor): Summary {
  return { kind: 'BackendTensor', shape, dtype, layout, state: stateOf({ ended: disposed }) }
}

/**
 * Printed form of a prepared network.
 *
 * @example
 * ```ts
 * import { rnnSummary } from '@cudnn-rnn/executor-kit'
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 })
 * console.log(rnnSummary(backend.rnn(descriptor), { ended: false }).kind) // Rnn
 * ```
 */
export function rnnSummary({ descriptor, paramsSize }: Rnn, life: Life): Summary {
  return { kind: 'Rnn', network: layoutKey(descriptor), paramsSize, state: stateOf(life) }
}

/**
 * Printed form of an executor.
 *
 * @example
 * ```ts
 * import { backendSummary } from '@cudnn-rnn/executor-kit'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * console.log(backendSummary(backend, { ended: false }).kind) // Backend
 * ```
 */
export function backendSummary(backend: Backend, life: Life): Summary {
  const { tensors, bytes } = backend.stats()
  return { kind: 'Backend', name: backend.name, dtype: backend.dtype, tensors, bytes, state: stateOf(life) }
}

function stateOf({ ended }: Life): 'live' | 'disposed' {
  return ended ? 'disposed' : 'live'
}
