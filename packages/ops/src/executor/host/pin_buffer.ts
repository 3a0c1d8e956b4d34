import { codedTypeError } from '@cudnn-rnn/canonical/rules'

interface WorkerThreads {
  markAsUntransferable(value: object): void
  /** Since Node.js 21. */
  isMarkedAsUntransferable?(value: object): boolean
}

/** This package is compiled without the types of Node.js, and browsers have no such module. */
const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } }
const workerThreads = process?.getBuiltinModule?.('node:worker_threads') as WorkerThreads | undefined

/**
 * Keeps `buffer` in this process's thread for good. Queued operations hold its address: the receiver of a transfer
 * could free memory that they use. structuredClone() and postMessage() refuse to transfer it (Node.js 20 copies instead),
 * and so do its own methods.
 */
export function pinBuffer(buffer: ArrayBufferLike): void {
  // Pinned before. A set of all of them would take longer than the rest: every result that is read is pinned.
  if (Object.hasOwn(buffer, 'transfer')) return
  // Node.js marks the external buffers of an addon itself. A second mark gives them a detach key, for which Node.js 24
  // aborts at the end of the process: it detaches them without one (CallbackInfo::CleanupHook of node_buffer.cc).
  if (workerThreads?.isMarkedAsUntransferable?.(buffer) !== true) workerThreads?.markAsUntransferable(buffer)
  for (const name of ['transfer', 'transferToFixedLength']) {
    if (name in buffer) Object.defineProperty(buffer, name, { value: refuseTransfer })
  }
}

function refuseTransfer(): never {
  throw codedTypeError(
    'ERR_BUFFER_IN_USE',
    'Cannot transfer this buffer as an executor or a communicator works in it: transfer a slice() of the array.',
  )
}
