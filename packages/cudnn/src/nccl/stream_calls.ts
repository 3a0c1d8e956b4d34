import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { CudnnBackend } from '../cudnn_backend.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { launchEach } from '../device/device_kernels.js'
import { DeviceSession } from '../device/device_session.js'
import type { NativeNccl } from '../sys/native_addon.js'
import { type DeviceArray, deviceArrays, markWritten, NCCL_REDUCTIONS, NCCL_TYPES } from './device_arrays.js'

/**
 * The calls of a communicator on the stream of one executor, in the order of the executor's calls.
 *
 * @example
 * ```ts no-run
 * import { CudnnLSTM } from '@cudnn-rnn/rnn'
 * import { openCudnnBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openCudnnBackend()
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 8, inputSize: 4 })
 * const stream = lstm.stream(lstm.createParams({ seed: 1 })) // whose steps are queued by a StreamCalls
 * console.log((await stream.step({ data: new Float32Array(4), shape: [1, 4] })).shape) // [1, 8]
 * ```
 */
export class StreamCalls {
  readonly #executor: CudnnExecutor
  readonly #communicator: NativeNccl

  private constructor(executor: CudnnExecutor, communicator: NativeNccl) {
    this.#executor = executor
    this.#communicator = communicator
  }

  /** Undefined if `backend` is not a cuDNN executor on `device`. */
  static of(backend: Backend, device: number, communicator: NativeNccl): StreamCalls | undefined {
    const executor = CudnnBackend.executorOf(backend)
    return executor?.session.device === device ? new StreamCalls(executor, communicator) : undefined
  }

  /**
   * Sums tensors of the executor over all ranks in place, as one group of NCCL. Resolves when the device has done it. With
   * `wire` they are rounded to bfloat16 before, and NCCL rounds after each addition.
   *
   * @throws as {@link deviceArrays}
   */
  sum(tensors: readonly BackendTensor[], wire?: 'bfloat16'): Promise<void> {
    const arrays = deviceArrays(this.#executor, 'sum tensors', tensors)
    if (arrays.length === 0) return Promise.resolve()
    if (wire === undefined) {
      const summed = this.#reduce(arrays, NCCL_TYPES[this.#executor.memory.dtype])
      markWritten(arrays)
      return summed
    }
    const { session } = this.#executor
    const rounding = session.begin('sum tensors')
    const halves = arrays.map(({ tensor, buffer, count }) => {
      const half = { tensor, buffer: rounding.allocate(2 * count), count, wide: buffer }
      launchEach(session, rounding, 'to_bfloat16', count, { y: half.buffer, x: buffer, count })
      return half
    })
    session.post(rounding)
    const summed = this.#reduce(halves, NCCL_TYPES.bfloat16)
    const widening = session.begin('sum tensors')
    for (const { buffer, count, wide } of halves) {
      launchEach(session, widening, 'from_bfloat16', count, { y: wide, x: buffer, count })
    }
    session.post(widening)
    markWritten(arrays)
    for (const { buffer } of halves) buffer.release()
    return summed
  }

  #reduce(arrays: readonly DeviceArray[], type: number): Promise<void> {
    const { session } = this.#executor
    const buffers = [arrays.map(({ buffer }) => buffer.id)]
    const counts = arrays.map(({ count }) => count)
    return DeviceSession.callOnStreams([session], (handles) =>
      session.native.ncclReduceOnStreams(this.#communicator, handles, buffers, counts, type, NCCL_REDUCTIONS.sum),
    )
  }
}
