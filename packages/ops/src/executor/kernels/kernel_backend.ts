import { HostBackend } from '../host/host_backend.js'
import { boundaryKernels, queueCopy } from './boundary_kernels.js'
import type { KernelExecutor } from './kernel_executor.js'
import { kernelLstm } from './kernel_lstm.js'
import { kernelProducts } from './kernel_products.js'
import { KernelRnn } from './kernel_rnn.js'

/** How an executor over the kernels presents itself. */
export interface KernelBackendLabels {
  readonly name: string
  readonly reason: string
  readonly implementation: string
  readonly opaqueOrder?: string
}

/** The backend whose networks and operations the kernels of `executor` compute. */
export function openKernelBackend(executor: KernelExecutor, labels: KernelBackendLabels): HostBackend<KernelRnn> {
  const { memory } = executor
  return new HostBackend({
    ...labels,
    memory,
    kernels: boundaryKernels(executor),
    products: kernelProducts(executor),
    lstm: kernelLstm(executor),
    settled() {
      // A copy without elements: operations are done in their order.
      return memory.done(queueCopy(executor, memory.allocate(0), memory.allocate(0)))
    },
    prepare: (descriptor) => new KernelRnn(executor, descriptor),
  })
}
