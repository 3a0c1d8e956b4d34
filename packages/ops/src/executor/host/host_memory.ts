import { type FloatDType, isBackendTensor, type SharedMemory, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import type { ExecutorMemory } from '../memory/executor_memory.js'
import { Ledger } from '../memory/ledger.js'
import { Lifetime } from '../memory/lifetime.js'
import { checkDimensions, checkHostTensor } from '../arguments/tensor_arguments.js'
import { allocating, type HostAllocation, hostAllocator, outOfMemory, sharedAllocator } from './host_allocation.js'
import { HostTensor, type HostTensorHome } from './host_tensor.js'

/** Operations that run behind their caller, in the order of their numbers, which begin at 1. */
export interface OperationQueue {
  /** `ERR_…`, the code of the error that reports a failed operation. */
  readonly failureCode: string
  /** Resolves when operation `job` is done; rejects with its error, or when the queue is closed before. */
  done(job: number): Promise<void>
  /** Refuses to have `buffer` transferred from now on: queued operations read and write it. */
  pin(buffer: ArrayBufferLike): void
  close(): void
}

/** The memory of one executor that computes on the host: makes tensors, counts them, and detects foreign ones. */
export class HostMemory implements ExecutorMemory<HostTensor>, HostTensorHome {
  readonly dtype: FloatDType
  readonly ledger = new Ledger()
  readonly life = new Lifetime('backend')
  /** A zeroed array in the executor's dtype. Throws RangeError `ERR_OUT_OF_MEMORY`. */
  readonly allocate: (length: number) => FloatArray
  /** Like {@link allocate}, over a SharedArrayBuffer. */
  readonly allocateShared: (length: number) => FloatArray
  readonly #queue: OperationQueue | undefined

  /**
   * @param queue absent if every operation is done when it returns.
   * @param allocation absent if arrays may have any address.
   */
  constructor(dtype: FloatDType, queue?: OperationQueue, allocation?: HostAllocation) {
    this.dtype = dtype
    this.#queue = queue
    this.allocate = hostAllocator(dtype, allocation?.own)
    this.allocateShared = hostAllocator(dtype, allocation?.shared ?? sharedAllocator(dtype))
  }

  owns(tensor: TensorLike): tensor is HostTensor {
    return HostTensor.isOf(this, tensor)
  }

  /** A copy of a host tensor. Throws as `Backend.tensor`. */
  copyOf<Data extends FloatArray | Int32Array>(host: Tensor<Data>): HostTensor<Data> {
    const action = 'make a tensor'
    this.life.check(action)
    const { data, shape, dtype } = checkHostTensor(action, this.dtype, host)
    const copy =
      dtype === 'int32' ? allocating(action, () => data.slice(), data.byteLength) : this.copy(data as FloatArray)
    return this.create(shape, copy as Data)
  }

  copy(data: FloatArray): FloatArray {
    const copy = this.allocate(data.length)
    copy.set(data)
    return copy
  }

  /** Throws as `Backend.zeros`. */
  zeros(shape: readonly number[], layout?: string): HostTensor {
    const action = 'make a tensor of zeros'
    this.life.check(action)
    const dimensions = checkDimensions(action, shape)
    return this.create(dimensions, this.allocate(elementCount(dimensions)), layout)
  }

  create<Data extends FloatArray | Int32Array>(
    shape: readonly number[],
    data: Data,
    layout?: string,
  ): HostTensor<Data> {
    return new HostTensor(this, data, shape, layout)
  }

  /** A read-only tensor over `data`, which other threads read. Throws RangeError `ERR_BACKEND_DISPOSED`. */
  shared(data: FloatArray, { shape, layout, id }: Parameters<SharedMemory['tensor']>[1]): HostTensor {
    this.life.check('open shared memory')
    return new HostTensor(this, data, shape, layout, id)
  }

  /** A tensor that owns `data`, which the operation queued as `job` fills. */
  result(shape: readonly number[], data: FloatArray, job: number, layout?: string): HostTensor {
    const tensor = this.create(shape, data, layout)
    tensor.job = job
    return tensor
  }

  /** The live elements of an argument that was checked before, its ownership included. */
  elements(tensor: TensorLike): FloatArray | Int32Array {
    return isBackendTensor(tensor) ? (tensor as HostTensor).live : tensor.data
  }

  /**
   * The elements of a floating argument that was checked before, to be read by an operation: of a host tensor a copy
   * if operations are queued, as its owner may overwrite it as soon as the call returns.
   */
  floats(tensor: TensorLike): FloatArray {
    return this.#queue === undefined ? (this.elements(tensor) as FloatArray) : this.lastingFloats(tensor)
  }

  /** Like {@link floats}, to be read by later operations too: always a copy of a host tensor. */
  lastingFloats(tensor: TensorLike): FloatArray {
    const elements = this.elements(tensor) as FloatArray
    return isBackendTensor(tensor) ? elements : this.copy(elements)
  }

  pin(buffer: ArrayBufferLike): void {
    this.#queue?.pin(buffer)
  }

  /** Waits for the operation queued as `job`. Rejects with `ERR_BACKEND_DISPOSED`, `ERR_OUT_OF_MEMORY` or the queue's code. */
  async done(job: number): Promise<void> {
    const action = 'read tensor'
    this.life.check(action)
    const queue = this.#queue
    if (queue === undefined) return
    try {
      await queue.done(job)
    } catch (cause) {
      this.life.check(action)
      if ((cause as { code?: unknown }).code === 'ERR_OUT_OF_MEMORY') {
        throw outOfMemory('run the operation that fills a tensor', undefined, cause)
      }
      const message = `Cannot read tensor as the operation that fills it failed: ${(cause as Error).message}`
      throw Object.assign(new Error(message, { cause }), { code: queue.failureCode })
    }
  }

  dispose(): void {
    if (this.life.end()) this.#queue?.close()
  }
}
