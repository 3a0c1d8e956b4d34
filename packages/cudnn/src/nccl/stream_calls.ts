import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import { ownTensor } from '@cudnn-rnn/executor-kit'
import { CudnnBackend } from '../cudnn_backend.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import type { NativeNccl } from '../sys/native_addon.js'

/** As ncclDataType_t numbers them. */
const TYPES = { float32: 7, float64: 8, bfloat16: 9 } as const
const SUM = 0

/** An array on the device. */
interface DeviceArray {
  readonly buffer: DeviceBuffer
  readonly count: number
}

/** The calls of a communicator on the stream of one executor, in the order of the executor's calls. */
export class StreamCalls {
  readonly #executor: CudnnExecutor
  readonly #communicator: NativeNccl

  private constructor(executor: CudnnExecutor, communicator: NativeNccl) {
    this.#executor = executor
    this.#communicator = communicator
  }

  /** Undefined where `backend` is not a cuDNN executor on `device`. */
  static of(backend: Backend, device: number, communicator: NativeNccl): StreamCalls | undefined {
    const executor = CudnnBackend.executorOf(backend)
    return executor?.session.device === device ? new StreamCalls(executor, communicator) : undefined
  }

  /**
   * Sums tensors of the executor over all ranks in place, as one group of NCCL. Resolves when the device has done it. With
   * `wire` they are rounded to bfloat16 before, and NCCL rounds after each addition.
   *
   * @throws TypeError `ERR_FOREIGN_TENSOR`; RangeError `ERR_BACKEND_DISPOSED`
   */
  sum(tensors: readonly BackendTensor[], wire?: 'bfloat16'): Promise<void> {
    const arrays = this.#arrays('sum tensors', tensors)
    if (arrays.length === 0) return Promise.resolve()
    if (wire === undefined) return this.#reduce(arrays, TYPES[this.#executor.memory.dtype])
    const { session } = this.#executor
    const rounding = session.begin('sum tensors')
    const halves = arrays.map(({ buffer, count }) => {
      const half = { buffer: rounding.allocate(2 * count), count, wide: buffer }
      launchEach(session, rounding, 'to_bfloat16', count, { y: half.buffer, x: buffer, count })
      return half
    })
    session.post(rounding)
    const summed = this.#reduce(halves, TYPES.bfloat16)
    const widening = session.begin('sum tensors')
    for (const { buffer, count, wide } of halves) {
      launchEach(session, widening, 'from_bfloat16', count, { y: wide, x: buffer, count })
    }
    session.post(widening)
    for (const { buffer } of halves) buffer.release()
    return summed
  }

  /** Tensors without elements have no memory, and no rank sends them. */
  #arrays(action: string, tensors: readonly BackendTensor[]): DeviceArray[] {
    const { memory } = this.#executor
    memory.life.check(action)
    const own = tensors.map((tensor, index) => ownTensor(memory, action, `tensors[${index}]`, tensor))
    return own
      .map((tensor) => ({ buffer: tensor.buffer, count: elementCount(tensor.shape) }))
      .filter(({ count }) => count > 0)
  }

  #reduce(arrays: readonly DeviceArray[], type: number): Promise<void> {
    const { session } = this.#executor
    const buffers = arrays.map(({ buffer }) => buffer.id)
    const counts = arrays.map(({ count }) => count)
    return session.callOnStream((handle) =>
      session.native.ncclReduceOnStream(this.#communicator, handle, buffers, counts, type, SUM),
    )
  }
}
