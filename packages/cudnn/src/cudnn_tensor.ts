import { DTYPES, type DType, type Ledger, type Lifetime, type VersionedTensor } from '@cudnn-rnn/backend'
import { codedRangeError, elementCount, type Tensor } from '@cudnn-rnn/canonical'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'
import { asFloat16, type Float16Tensor } from './float16_values.js'

/** The memory that a tensor lies in, as far as the tensor needs it. */
export interface TensorHome {
  readonly session: DeviceSession
  readonly ledger: Ledger
  readonly life: Lifetime
  /** Releases the buffer of a tensor that nobody disposed, once nobody can. */
  watch(tensor: CudnnTensor, buffer: DeviceBuffer): void
  unwatch(tensor: CudnnTensor): void
}

/** A tensor in device memory. */
export class CudnnTensor implements VersionedTensor {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly layout: string | undefined
  readonly memory: TensorHome
  version = 0
  #buffer: DeviceBuffer | undefined

  /** Takes over one ownership of `buffer`. */
  constructor(
    memory: TensorHome,
    buffer: DeviceBuffer,
    shape: readonly number[],
    dtype: DType,
    layout: string | undefined,
  ) {
    this.memory = memory
    this.#buffer = buffer
    this.shape = Object.freeze([...shape])
    this.dtype = dtype
    this.layout = layout
    memory.ledger.add('tensors', this.bytes)
    memory.watch(this, buffer)
  }

  get bytes(): number {
    return elementCount(this.shape) * DTYPES[this.dtype].bytes
  }

  get disposed(): boolean {
    return this.#buffer === undefined || this.memory.life.ended
  }

  /** Throws RangeError `ERR_TENSOR_DISPOSED`. */
  get buffer(): DeviceBuffer {
    if (this.#buffer === undefined || this.memory.life.ended) {
      throw codedRangeError('ERR_TENSOR_DISPOSED', 'Cannot read tensor as it was disposed')
    }
    return this.#buffer
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
    if (this.#buffer === undefined) return
    this.memory.unwatch(this)
    this.memory.ledger.remove('tensors', this.bytes)
    const buffer = this.#buffer
    this.#buffer = undefined
    buffer.release()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
