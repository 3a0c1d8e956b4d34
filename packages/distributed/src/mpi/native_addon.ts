import type { Limits, Ranks } from '../checked_communicator.js'

/** The functions of native/mpi/src/addon.cc. */
export interface NativeAddon {
  /** Once per process. Rejects with a {@link NativeFailure}. */
  open(
    options: Limits & {
      readonly libraries: readonly string[]
      /** The launcher's number of processes; 0 without one. */
      readonly expectedSize: number
    },
  ): Promise<NativeWorld>
  allReduce(array: Float32Array | Float64Array | Int32Array, reduction: number, asBfloat16: boolean): Promise<void>
  /** Sums arrays of one type in place, by one operation. */
  sumArrays(arrays: readonly (Float32Array | Float64Array)[], asBfloat16: boolean): Promise<void>
  broadcast(bytes: Uint8Array, root: number): Promise<void>
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  barrier(): Promise<void>
  /** Waits for all ranks, then finalizes MPI. */
  close(): Promise<void>
  /** The same on this thread, which waits. False if calls are pending. */
  closeAtExit(): boolean
  /** A heartbeat of the event loop. */
  beat(): void
  /** A call of NCCL begins, or ends: the watchdog waits for its ranks as in a call of MPI. */
  beginDeviceCall(): void
  endDeviceCall(): void
  abort(reason: string, code: number): never
}

interface NativeWorld extends Ranks {
  /** MPI may be called from two threads, so that the watchdog can find the missing ranks. */
  readonly namesMissingRanks: boolean
  /** The name it was opened by. */
  readonly library: string
  readonly version: string
  readonly abi: 'open-mpi' | 'mpich' | 'standard'
}

export interface NativeFailure extends Error {
  readonly code: string
  readonly call: string
  readonly attempts: readonly string[]
  readonly library: string
  readonly version: string
}
