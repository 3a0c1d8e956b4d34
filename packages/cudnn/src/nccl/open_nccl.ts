import { checkArguments, optional, PATH } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import { bfloat16ToNumber, numberToBfloat16 } from '@cudnn-rnn/checkpoint/files'
import { loadAddon } from '../load_addon.js'
import { openCudaLibraries } from '../sys/cuda_libraries.js'
import type { Libraries, NativeAddon } from '../sys/native_addon.js'
import { NCCL_REDUCTIONS } from './device_arrays.js'
import { findNccl, ncclUnavailable } from './find_nccl.js'
import { StreamCalls } from './stream_calls.js'

interface NcclOptions {
  /** Index of the GPU. */
  readonly device: number
  /** In 0..size-1. */
  readonly rank: number
  /** Ranks of the communicator. */
  readonly size: number
  /** Made by {@link Nccl.newId} on one rank; 128 bytes. */
  readonly id: Uint8Array
  /** A call that takes longer is aborted. */
  readonly timeoutSeconds: number
}

/** One rank of a communicator. Its calls reject with the addon's errors, of which `statusName` is `TIMEOUT` at the deadline. */
export interface NcclCommunicator {
  /** Combines the arrays of all ranks in place, through memory of the GPU. */
  allReduce(
    array: Float32Array | Float64Array | Int32Array,
    op: 'sum' | 'min' | 'max',
    wire?: 'bfloat16' | undefined,
  ): Promise<void>
  /** Calls on the stream of an executor; undefined if it is not a cuDNN executor on the communicator's GPU. */
  streamCallsOf(backend: Backend): StreamCalls | undefined
  /** Waits for all ranks. */
  close(): Promise<void>
}

/** NCCL, found and opened. */
export interface Nccl {
  /** 2.27.7 */
  readonly version: string
  readonly file: string
  /** A new communicator's id, which one rank makes and all need. */
  newId(): Uint8Array
  open(options: NcclOptions): Promise<NcclCommunicator>
}

/**
 * Opens NCCL beside the libraries of the executor.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` with everything that was tried; TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts no-run
 * import { openNccl } from '@cudnn-rnn/cudnn'
 *
 * const nccl = openNccl()
 * console.log(nccl.version, nccl.file)
 * ```
 */
export function openNccl(libraryDir?: string): Nccl {
  checkArguments('open NCCL', { libraryDir }, { libraryDir: optional(PATH) })
  const loaded = loadAddon()
  if (loaded.addon === undefined) {
    throw ncclUnavailable([{ name: 'nccl', reason: loaded.attempts.join('; ') }], loaded.advice)
  }
  const { addon } = loaded
  const { libraries, attempts, advice } = openCudaLibraries(addon, libraryDir)
  if (libraries === undefined) throw ncclUnavailable(attempts, advice)
  const { count, error } = addon.deviceCount(libraries)
  if (count === 0) {
    throw ncclUnavailable([{ name: 'nccl', reason: `the driver sees no GPU (${error})` }], 'Run `nvidia-smi`.')
  }
  const { file, version } = findNccl(addon, libraryDir)
  return {
    version,
    file,
    newId: () => addon.ncclUniqueId(file),
    open: (options) => openCommunicator(addon, libraries, file, options),
  }
}

async function openCommunicator(
  addon: NativeAddon,
  libraries: Libraries,
  file: string,
  options: NcclOptions,
): Promise<NcclCommunicator> {
  const { communicator, opened } = addon.openNccl(libraries, file, { ...options, devices: [options.device] })
  await opened
  return {
    async allReduce(array, op, wire) {
      if (wire === undefined) return await addon.ncclAllReduce(communicator, array, NCCL_REDUCTIONS[op])
      const halves = Uint16Array.from(array, numberToBfloat16)
      await addon.ncclAllReduce(communicator, halves, NCCL_REDUCTIONS[op])
      for (const [index, half] of halves.entries()) array[index] = bfloat16ToNumber(half)
    },
    streamCallsOf: (backend) => StreamCalls.of(backend, options.device, communicator),
    close: () => addon.closeNccl(communicator),
  }
}
