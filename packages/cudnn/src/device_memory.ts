import { DTYPES, type DType, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import { type ExecutorMemory, Ledger, Lifetime } from '@cudnn-rnn/executor-kit'
import { CudnnTensor, type TensorHolding, type TensorHome } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'

/** The memory of one executor on its device: makes tensors, counts them, and tells its own from foreign ones. */
export class DeviceMemory implements ExecutorMemory<CudnnTensor>, TensorHome {
  readonly session: DeviceSession
  readonly dtype: FloatDType
  readonly ledger = new Ledger()
  readonly life = new Lifetime('backend')
  /** The net that catches tensors nobody disposed. */
  readonly #forgotten = new FinalizationRegistry<TensorHolding>(({ buffer, copy }) => {
    if (this.life.ended) return
    buffer.release()
    copy?.buffer.release()
  })

  constructor(session: DeviceSession, dtype: FloatDType) {
    this.session = session
    this.dtype = dtype
  }

  owns(tensor: TensorLike): tensor is CudnnTensor {
    return CudnnTensor.isOf(this, tensor)
  }

  watch(tensor: CudnnTensor, holding: TensorHolding): void {
    this.#forgotten.register(tensor, holding, tensor)
  }

  unwatch(tensor: CudnnTensor): void {
    this.#forgotten.unregister(tensor)
  }

  /** Appends an allocation of `elements` elements to the batch under construction. */
  allocate(elements: number, dtype: DType = this.dtype): DeviceBuffer {
    return new DeviceBuffer(this.session, elements * DTYPES[dtype].bytes)
  }

  /** Appends an allocation of `bytes` bytes to the batch under construction. */
  allocateBytes(bytes: number): DeviceBuffer {
    return new DeviceBuffer(this.session, bytes)
  }

  /** Appends an allocation for a host array, and its upload; the array may change afterwards. */
  upload(data: Tensor['data'], dtype: DType): DeviceBuffer {
    const buffer = this.allocate(data.length, dtype)
    this.session.native.upload(this.session.handle, buffer.handle, 0, data)
    return buffer
  }

  /** Makes a tensor of `buffer`, whose ownership it takes over. */
  tensor(
    buffer: DeviceBuffer,
    shape: readonly number[],
    { dtype = this.dtype, layout }: { readonly dtype?: DType; readonly layout?: string | undefined } = {},
  ): CudnnTensor {
    return new CudnnTensor(this, buffer, shape, dtype, layout)
  }

  /** A tensor of zeros, queued by itself. */
  zeros(shape: readonly number[], layout?: string): CudnnTensor {
    const buffer = this.#queued((native, session) => {
      const made = this.allocate(elementCount(shape))
      native.clear(session, made.handle, 0, made.bytes)
      return made
    })
    return this.tensor(buffer, shape, { layout })
  }

  /** A copy of a host tensor of this dtype, queued by itself. */
  fromHost({ data, shape }: Tensor, dtype: DType, layout?: string): CudnnTensor {
    return this.tensor(
      this.#queued(() => this.upload(data, dtype)),
      shape,
      { dtype, layout },
    )
  }

  /**
   * The buffer of an argument that was checked before, its ownership included: of a tensor its own (retained), of a host
   * array an upload, which is appended to the batch under construction. The caller releases it.
   */
  operand(tensor: TensorLike): DeviceBuffer {
    if (isBackendTensor(tensor)) return (tensor as CudnnTensor).buffer.retain()
    return this.upload(tensor.data, tensor.data instanceof Int32Array ? 'int32' : this.dtype)
  }

  #queued(append: (native: DeviceSession['native'], session: DeviceSession['handle']) => DeviceBuffer): DeviceBuffer {
    let buffer: DeviceBuffer | undefined
    this.session.post((native, session) => {
      buffer = append(native, session)
    })
    return buffer!
  }
}
