import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, required } from '@cudnn-rnn/canonical/rules'
import { type DType, DTYPES } from '@cudnn-rnn/ops'
import { allocating, ExecutorTensor, type Ledger, type LedgerEntry, type Lifetime } from '@cudnn-rnn/ops/executor'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import { asFloat16, type Float16Tensor } from './float16_values.js'

/** The memory of a tensor, as far as the tensor needs it. */
export interface TensorHome {
  readonly session: DeviceSession
  readonly ledger: Ledger
  readonly life: Lifetime
  /** Releases the holding of a tensor that is collected without `dispose()`. */
  watch(tensor: CudnnTensor<FloatArray | Int32Array>, holding: TensorHolding): void
  unwatch(tensor: CudnnTensor<FloatArray | Int32Array>, holding: TensorHolding): void
}

/** Resources of a tensor, in a separate object so that they can be released after the tensor is collected. */
export interface TensorHolding {
  readonly buffer: DeviceBuffer
  readonly entry: LedgerEntry
  copy: ConvertedCopy | undefined
  /** `young`: not registered with the collector yet. */
  state: 'young' | 'registered' | 'released'
}

/**
 * A tensor in device memory.
 *
 * @example
 * ```ts no-run
 * import type { CudnnTensor } from '@cudnn-rnn/cudnn'
 * import { openCudnnBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openCudnnBackend()
 * const x: CudnnTensor = backend.zeros([2, 3])
 * console.log(x.shape, await x.data()) // [2, 3] [0, 0, 0, 0, 0, 0]
 * x.dispose()
 * backend.dispose()
 * ```
 */
export class CudnnTensor<Data extends FloatArray | Int32Array = FloatArray> extends ExecutorTensor<Data> {
  readonly #memory: TensorHome
  #holding: TensorHolding | undefined

  /** Takes over one ownership of `buffer`. A frozen `shape` is kept, any other is copied. */
  constructor(
    memory: TensorHome,
    buffer: DeviceBuffer,
    shape: readonly number[],
    dtype: DType,
    layout: string | undefined,
  ) {
    super(shape, dtype, layout)
    this.#memory = memory
    const entry = memory.ledger.enter('tensors', this, buffer.bytes, true)
    this.#holding = { buffer, entry, copy: undefined, state: 'young' }
    memory.watch(this, this.#holding)
  }

  /** Whether `tensor` is one of `memory`: a proxy or a copy of one is none. */
  static isOf(memory: TensorHome, tensor: unknown): tensor is CudnnTensor {
    return typeof tensor === 'object' && tensor !== null && #memory in tensor && tensor.#memory === memory
  }

  get bytes(): number {
    return elementCount(this.shape) * DTYPES[this.dtype].bytes
  }

  get disposed(): boolean {
    return this.#holding === undefined || this.#memory.life.ended
  }

  /** Throws RangeError `ERR_TENSOR_DISPOSED`. */
  get buffer(): DeviceBuffer {
    if (this.#holding === undefined || this.#memory.life.ended) {
      throw codedRangeError(
        'ERR_TENSOR_DISPOSED',
        'Cannot read tensor as it was disposed: keep it until the last read()',
      )
    }
    return this.#holding.buffer
  }

  /** The contents as cuDNN reads them, if a pass had them converted; of an earlier version perhaps. */
  get copy(): ConvertedCopy | undefined {
    return this.#holding?.copy
  }

  /** Keeps `copy`, whose buffer it takes over, as long as it lives; undefined for none. */
  set copy(copy: ConvertedCopy | undefined) {
    const holding = required(this.#holding, 'a tensor gets a copy from a pass, which has read its buffer')
    const change = (copy?.buffer.bytes ?? 0) - (holding.copy?.buffer.bytes ?? 0)
    holding.copy?.buffer.release()
    holding.copy = copy
    holding.entry.hold(change)
  }

  /**
   * Copies the contents to a new host array, after all calls made before. Rejects with the error of a failed call that
   * should have written the tensor.
   */
  async read(): Promise<Tensor<Data>> {
    const { list, result } = this.#download()
    await this.#memory.session.finish(list)
    return result
  }

  /** Like {@link read}, and blocks the calling thread until then. Throws RangeError `ERR_EXECUTOR_BUSY`, too. */
  readSync(): Tensor<Data> {
    const { list, result } = this.#download()
    this.#memory.session.finishAndWait(list, 'read a tensor')
    return result
  }

  /**
   * Like {@link read}, rounded to the nearest half; results of a network at precision `float16` are exact.
   *
   * Rejects with TypeError `ERR_NO_FLOAT16_ARRAY` before Node.js 24, and as `read()`.
   */
  async readFloat16(): Promise<Float16Tensor> {
    return asFloat16(await this.read())
  }

  /** The commands of a read, and the array that they fill. */
  #download() {
    const { buffer, shape } = this
    const data = allocating('read tensor', () => new DTYPES[this.dtype].array(elementCount(shape)), this.bytes)
    const list = this.#memory.session.list('read tensor')
    list.add('download', { from: buffer, offset: 0, to: data })
    return { list, result: { data: data as FloatArray | Int32Array as Data, shape } }
  }

  /** Idempotent. Calls already queued still read the tensor; its memory is freed after them. */
  dispose(): void {
    if (this.#holding === undefined) return
    const { buffer, copy, entry } = this.#holding
    this.#memory.unwatch(this, this.#holding)
    entry.leave()
    this.#holding = undefined
    buffer.release()
    copy?.buffer.release()
  }
}

/**
 * A copy of a tensor in the element type that cuDNN computes with. It is one allocation, rewritten in place when a pass
 * needs it and the tensor has changed, so CUDA graphs find it at a fixed address.
 *
 * The batch that rewrites it is separate, in the order of calls. If it fails, the buffer carries the error to the
 * passes that read it.
 */
interface ConvertedCopy {
  /** Owned by the tensor. */
  readonly buffer: DeviceBuffer
  /** The version of the tensor that is in it. */
  version: number
  /** True once it is known to exist on the device: only then may it be written again. */
  isIssued: boolean
}
