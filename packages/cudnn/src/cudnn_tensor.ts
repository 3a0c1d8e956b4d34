import { DTYPES, type DType } from '@cudnn-rnn/backend'
import { codedRangeError, elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { Ledger, Lifetime, VersionedTensor } from '@cudnn-rnn/executor-kit'
import type { ConvertedCopy } from './converted_copy.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import { asFloat16, type Float16Tensor } from './float16_values.js'

/** The memory that a tensor lies in, as far as the tensor needs it. */
export interface TensorHome {
  readonly session: DeviceSession
  readonly ledger: Ledger
  readonly life: Lifetime
  /** Releases what a tensor that nobody disposed holds, once nobody can. */
  watch(tensor: CudnnTensor, holding: TensorHolding): void
  unwatch(tensor: CudnnTensor): void
}

/** What a tensor holds, apart from the tensor, so that it can be released when the tensor is gone. */
export interface TensorHolding {
  readonly buffer: DeviceBuffer
  copy: ConvertedCopy | undefined
  /** As the ledger counts them. */
  bytes: number
}

/** A tensor in device memory. */
export class CudnnTensor implements VersionedTensor {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly layout: string | undefined
  readonly memory: TensorHome
  version = 0
  #holding: TensorHolding | undefined

  /** Takes over one ownership of `buffer`. */
  constructor(
    memory: TensorHome,
    buffer: DeviceBuffer,
    shape: readonly number[],
    dtype: DType,
    layout: string | undefined,
  ) {
    this.memory = memory
    this.shape = Object.freeze([...shape])
    this.dtype = dtype
    this.layout = layout
    this.#holding = { buffer, copy: undefined, bytes: this.bytes }
    memory.ledger.add('tensors', this.bytes)
    memory.watch(this, this.#holding)
  }

  get bytes(): number {
    return elementCount(this.shape) * DTYPES[this.dtype].bytes
  }

  get disposed(): boolean {
    return this.#holding === undefined || this.memory.life.ended
  }

  /** Throws RangeError `ERR_TENSOR_DISPOSED`. */
  get buffer(): DeviceBuffer {
    if (this.#holding === undefined || this.memory.life.ended) {
      throw codedRangeError('ERR_TENSOR_DISPOSED', 'Cannot read tensor as it was disposed')
    }
    return this.#holding.buffer
  }

  /** The contents as cuDNN reads them, if a pass had them converted; of an earlier version perhaps. */
  get copy(): ConvertedCopy | undefined {
    return this.#holding?.copy
  }

  /** Keeps `copy`, whose buffer it takes over, as long as it lives; undefined for none. */
  set copy(copy: ConvertedCopy | undefined) {
    const holding = this.#holding!
    const change = (copy?.buffer.bytes ?? 0) - (holding.copy?.buffer.bytes ?? 0)
    holding.copy?.buffer.release()
    holding.copy = copy
    holding.bytes += change
    this.memory.ledger.hold(change)
  }

  async read(): Promise<Tensor> {
    const { buffer, shape } = this
    const data = new DTYPES[this.dtype].array(elementCount(shape))
    await this.memory.session.finish('read tensor', (native, session) =>
      native.download(session, buffer.handle, 0, data),
    )
    return { data, shape }
  }

  /**
   * As {@link read}, rounded to the nearest half; what a network computed at precision `float16` is exact in it.
   *
   * Rejects with TypeError `ERR_NO_FLOAT16_ARRAY` before Node.js 24, and as `read()`.
   */
  async readFloat16(): Promise<Float16Tensor> {
    return asFloat16(await this.read())
  }

  dispose(): void {
    if (this.#holding === undefined) return
    this.memory.unwatch(this)
    const { buffer, copy, bytes } = this.#holding
    this.memory.ledger.remove('tensors', bytes)
    this.#holding = undefined
    buffer.release()
    copy?.buffer.release()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
