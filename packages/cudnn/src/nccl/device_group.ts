import {
  ANYTHING,
  checkArguments,
  checkOptions,
  codedRangeError,
  listOf,
  methods,
  optional,
  POSITIVE,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor, DeviceGroup, DeviceGroups } from '@cudnn-rnn/ops'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { DeviceSession } from '../device/device_session.js'
import { cudnnError } from '../sys/cudnn_error.js'
import type { NativeNccl } from '../sys/native_addon.js'
import { deviceArrays, markWritten, NCCL_REDUCTIONS, NCCL_TYPES } from './device_arrays.js'
import { findNccl, ncclUnavailable } from './find_nccl.js'

const ACTION = 'connect devices'
const ARGUMENTS = { devices: listOf(methods('what openBackend() resolves to', 'owns'), 1) }
const DEFAULT_TIMEOUT_SECONDS = 600
const FIRST = 0

/**
 * Connects the cuDNN executors of several GPUs by NCCL: one id, and one communicator for each GPU of this process.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` without NCCL, and for executors that it cannot connect; CudnnError
 *   `ERR_NCCL`, `ERR_CUDA`
 */
export async function connectDevices(
  devices: readonly Backend[],
  executorOf: (device: Backend) => CudnnExecutor | undefined,
  options: Parameters<DeviceGroups['connect']>[1] = {},
): Promise<DeviceGroup> {
  checkArguments(ACTION, { devices }, ARGUMENTS)
  const given = checkOptions(ACTION, options, { timeoutSeconds: optional(POSITIVE) })
  const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = given
  const executors = devices.map(executorOf).filter((executor) => executor !== undefined)
  checkConnectable(devices, executors)
  const [{ session, libraryDir }] = executors as [CudnnExecutor]
  const { native, libraries } = session
  const { file, version } = findNccl(native, libraryDir)
  try {
    const id = native.ncclUniqueId(file)
    const ranks = { rank: 0, size: executors.length, devices: executors.map((each) => each.session.device) }
    const { communicator, opened } = native.openNccl(libraries, file, { ...ranks, id, timeoutSeconds })
    await opened
    return new NcclDeviceGroup(`nccl: NCCL ${version} (${file})`, executors, communicator)
  } catch (error) {
    throw cudnnError(ACTION, error)
  }
}

function checkConnectable(devices: readonly Backend[], executors: readonly CudnnExecutor[]): void {
  const refuse = (reason: string, advice: string) => ncclUnavailable([{ name: 'nccl', reason }], advice)
  if (executors.length < devices.length) {
    throw refuse('it connects cudnn executors only', "Open all of them by openBackend('cudnn', { device }).")
  }
  for (const { memory } of executors) memory.life.check(ACTION)
  const types = executors.map(({ memory }) => memory.dtype)
  if (new Set(types).size > 1) {
    throw refuse(
      `it connects executors of one element type: the types are ${types.join(', ')}`,
      'Open all of them with the same `dtype`.',
    )
  }
  const numbers = executors.map(({ session }) => session.device)
  if (new Set(numbers).size < numbers.length) {
    throw refuse(
      `it needs one executor on each GPU: the GPUs are ${numbers.join(', ')}`,
      'Name another GPU by `device`.',
    )
  }
}

/** See {@link DeviceGroup}. */
class NcclDeviceGroup implements DeviceGroup {
  readonly engine = 'nccl'
  readonly reason: string
  readonly #executors: readonly CudnnExecutor[]
  readonly #communicator: NativeNccl
  #closed: Promise<void> | undefined

  constructor(reason: string, executors: readonly CudnnExecutor[], communicator: NativeNccl) {
    this.reason = reason
    this.#executors = executors
    this.#communicator = communicator
  }

  sum(tensors: readonly (readonly BackendTensor[])[]): Promise<void> {
    return this.#call('sum tensors', tensors, 'ncclReduceOnStreams', NCCL_REDUCTIONS.sum)
  }

  broadcast(tensors: readonly (readonly BackendTensor[])[]): Promise<void> {
    return this.#call('copy tensors', tensors, 'ncclBroadcastOnStreams', FIRST)
  }

  close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed
    const { native } = this.#executors[0].session
    this.#closed = native.closeNccl(this.#communicator).catch((error: unknown) => {
      throw cudnnError('close the communicators', error)
    })
    return this.#closed
  }

  /** All devices queue the call, or none. The last argument is the native call's. */
  async #call(
    action: string,
    tensors: readonly (readonly BackendTensor[])[],
    call: 'ncclReduceOnStreams' | 'ncclBroadcastOnStreams',
    reductionOrRoot: number,
  ): Promise<void> {
    if (this.#closed !== undefined) {
      throw codedRangeError('ERR_BACKEND_DISPOSED', `Cannot ${action} as the communicators were closed`)
    }
    const executors = this.#executors
    const lists = where(
      listOf(listOf(ANYTHING)),
      `a list of tensors for each of the ${executors.length} devices`,
      (given: readonly unknown[]) => given.length === executors.length,
    )
    checkArguments(action, { tensors }, { tensors: lists })
    const arrays = executors.map((executor, device) => deviceArrays(executor, action, tensors[device]))
    const counts = arrays[0].map(({ count }) => count)
    for (const [device, own] of arrays.entries()) {
      if (own.length === counts.length && own.every(({ count }, k) => count === counts[k])) continue
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot ${action} as all devices must have the same elements: device ${device}`,
        {
          device,
        },
      )
    }
    if (counts.length === 0) return
    const { native } = executors[0].session
    const type = NCCL_TYPES[executors[0].memory.dtype]
    const buffers = arrays.map((own) => own.map(({ buffer }) => buffer.id))
    try {
      const done = DeviceSession.callOnStreams(
        executors.map(({ session }) => session),
        (sessions) => native[call](this.#communicator, sessions, buffers, counts, type, reductionOrRoot),
      )
      // The root of a copy is only read.
      const written = call === 'ncclBroadcastOnStreams' ? arrays.toSpliced(reductionOrRoot, 1) : arrays
      for (const own of written) markWritten(own)
      await done
    } catch (error) {
      throw cudnnError(action, error)
    }
  }
}
