import type { BackendTensor } from './backend_tensor.js'

/** @inline */
export type DeviceGroupOptions = {
  /** A call that takes longer rejects, and so do all later ones; default 600. */
  readonly timeoutSeconds?: number | undefined
}

/**
 * Executors on several devices of this process that exchange tensors without the host. Its calls take their places in the
 * order of each executor's calls. Every call rejects with `ERR_NCCL` after one that failed on a device has rejected, and with
 * `ERR_BACKEND_DISPOSED` if an executor or the group was closed.
 */
export interface DeviceGroup {
  readonly engine: 'nccl'
  /** The library, for people. */
  readonly reason: string
  /**
   * Sums tensors of the executors' dtype over the devices in place: `tensors[d][k]` of all devices `d`. Resolves when all
   * devices have the sums. If a device could not compute one of them, it rejects with that error, and the group stays
   * usable.
   */
  sum(tensors: readonly (readonly BackendTensor[])[]): Promise<void>
  /** Copies the tensors of the first device into the others'. Resolves when all devices have them. */
  broadcast(tensors: readonly (readonly BackendTensor[])[]): Promise<void>
  /** Frees the communicators; the executors are the caller's. Idempotent. */
  close(): Promise<void>
}
