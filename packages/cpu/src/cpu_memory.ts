import { DTYPES, type FloatDType, isBackendTensor, Ledger, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, codedTypeError, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { CpuTensor } from './cpu_tensor.js'
import type { NativeAddon, NativeExecutor } from './native_addon.js'
import type { WeightFormat } from './weight_format.js'

/** From this size on a buffer is aligned to a cache line, so that no vector of the kernels straddles two. */
const ALIGNED_BYTES = 1024

/** The memory of one executor: makes tensors, counts them, tells its own from foreign ones, and knows the queue. */
export class CpuMemory {
  readonly addon: NativeAddon
  readonly executor: NativeExecutor
  readonly dtype: FloatDType
  /** How the matrices of an inference are stored. */
  readonly weightFormat: WeightFormat
  readonly ledger = new Ledger()
  #disposed = false

  constructor(addon: NativeAddon, executor: NativeExecutor, dtype: FloatDType, weightFormat: WeightFormat) {
    this.addon = addon
    this.executor = executor
    this.dtype = dtype
    this.weightFormat = weightFormat
  }

  get disposed(): boolean {
    return this.#disposed
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.executor.close()
  }

  /** Throws RangeError `ERR_BACKEND_DISPOSED` once the executor was disposed. */
  checkAlive(action: string): void {
    if (!this.#disposed) return
    throw codedRangeError('ERR_BACKEND_DISPOSED', `Cannot ${action} as the backend was disposed`)
  }

  /** A zeroed array in the executor's dtype. */
  readonly allocate = (length: number): FloatArray => {
    const { array: FloatArrayOf, bytes } = DTYPES[this.dtype]
    if (length * bytes < ALIGNED_BYTES) return new FloatArrayOf(length)
    const buffer = new ArrayBuffer(length * bytes + 64)
    return new FloatArrayOf(buffer, this.addon.alignedOffset(buffer), length)
  }

  /** A tensor that owns `data`; zeros when none is given. */
  create(shape: readonly number[], data?: FloatArray | Int32Array, layout?: string): CpuTensor {
    return new CpuTensor(this, data ?? this.allocate(elementCount(shape)), shape, layout)
  }

  /** A tensor of zeros that the operation queued as `job` fills. */
  result(shape: readonly number[], data: FloatArray, job: number, layout?: string): CpuTensor {
    const tensor = this.create(shape, data, layout)
    tensor.job = job
    return tensor
  }

  /**
   * The elements of an argument that was checked before, to be read by queued work: of an own tensor the live memory, of
   * a host tensor a copy, as its owner may overwrite it as soon as the call returns.
   *
   * @throws TypeError `ERR_FOREIGN_TENSOR` for a backend tensor of another executor
   */
  floats(action: string, name: string, tensor: TensorLike): FloatArray {
    if (isBackendTensor(tensor)) return this.own(action, name, tensor).data as FloatArray
    const copy = this.allocate(tensor.data.length)
    copy.set(tensor.data)
    return copy
  }

  /** A copy of the elements of an int32 argument; nothing that is queued writes those. */
  integers(action: string, name: string, tensor: TensorLike): Int32Array {
    return (isBackendTensor(tensor) ? this.own(action, name, tensor).data : tensor.data).slice() as Int32Array
  }

  /** `tensor` as a tensor of this executor; throws as {@link floats}. */
  own(action: string, name: string, tensor: TensorLike): CpuTensor {
    if (tensor instanceof CpuTensor && tensor.memory === this) return tensor
    throw codedTypeError(
      'ERR_FOREIGN_TENSOR',
      `Cannot ${action} as ${name} belongs to another executor: read() it and pass the host tensor`,
      { argument: name },
    )
  }

  /** Waits for the operation queued as `job`. Rejects with `ERR_BACKEND_DISPOSED` or `ERR_CPU_OPERATION`. */
  async done(job: number): Promise<void> {
    this.checkAlive('read tensor')
    try {
      await this.executor.done(job)
    } catch (cause) {
      this.checkAlive('read tensor')
      const message = `Cannot read tensor as the operation that fills it failed: ${(cause as Error).message}`
      throw Object.assign(new Error(message, { cause }), { code: 'ERR_CPU_OPERATION' })
    }
  }
}
