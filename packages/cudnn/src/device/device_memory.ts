import { DTYPES, type DType, type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { type ExecutorMemory, Ledger, Lifetime, outOfMemory, YoungOwners } from '@cudnn-rnn/ops/executor'
import type { CommandList } from './command_list.js'
import { CudnnTensor, type TensorHolding, type TensorHome } from './cudnn_tensor.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession } from './device_session.js'

/** Tensors that wait to be registered with the garbage collector: more than a step of a large model makes. */
const MOST_YOUNG = 1024

/** The memory of one executor on its device: makes tensors, counts them, and rejects tensors of other executors. */
export class DeviceMemory implements ExecutorMemory<CudnnTensor>, TensorHome {
  readonly session: DeviceSession
  readonly dtype: FloatDType
  readonly ledger = new Ledger()
  readonly life = new Lifetime('backend')
  /** Releases the resources of tensors that were dropped without `dispose()`. */
  readonly #dropped = new FinalizationRegistry<TensorHolding>(({ buffer, copy, entry }) => {
    entry.leave()
    if (this.life.ended) return
    buffer.release()
    copy?.buffer.release()
  })
  readonly #young = new YoungOwners<CudnnTensor<FloatArray | Int32Array>, TensorHolding>(
    MOST_YOUNG,
    (tensor, holding) => {
      if (holding.state !== 'young') return
      holding.state = 'registered'
      this.#dropped.register(tensor, holding, tensor)
    },
  )

  constructor(session: DeviceSession, dtype: FloatDType) {
    this.session = session
    this.dtype = dtype
  }

  owns(tensor: TensorLike): tensor is CudnnTensor {
    return CudnnTensor.isOf(this, tensor)
  }

  /** Registers the tensor with the garbage collector at the next turn of the event loop, if it still lives then. */
  watch(tensor: CudnnTensor<FloatArray | Int32Array>, holding: TensorHolding): void {
    this.#young.add(tensor, holding)
  }

  unwatch(tensor: CudnnTensor<FloatArray | Int32Array>, holding: TensorHolding): void {
    if (holding.state === 'registered') this.#dropped.unregister(tensor)
    holding.state = 'released'
  }

  allocate(list: CommandList, elements: number, dtype: DType = this.dtype): DeviceBuffer {
    return list.allocate(elements * DTYPES[dtype].bytes)
  }

  /** Makes a tensor of `buffer`, whose ownership it takes over. */
  tensor(
    buffer: DeviceBuffer,
    shape: readonly number[],
    { dtype = this.dtype, layout }: { readonly dtype?: DType; readonly layout?: string | undefined } = {},
  ): CudnnTensor {
    return new CudnnTensor(this, buffer, shape, dtype, layout)
  }

  /** A tensor of zeros, queued separately. Throws RangeError `ERR_OUT_OF_MEMORY` for a size that no integer has. */
  zeros(shape: readonly number[], layout?: string): CudnnTensor {
    const bytes = elementCount(shape) * DTYPES[this.dtype].bytes
    // The addon would convert it to another size. Smaller ones that the device does not have fail there.
    if (!Number.isSafeInteger(bytes)) throw outOfMemory('make a tensor of zeros', bytes)
    const list = this.session.begin('make zeros')
    const to = this.allocate(list, elementCount(shape))
    list.add('clear', { to, offset: 0, bytes: to.bytes })
    this.session.post(list)
    return this.tensor(to, shape, { layout })
  }

  /** A copy of a host tensor of this dtype, queued separately. */
  fromHost(host: Tensor, dtype: DType, layout?: string): CudnnTensor {
    const list = this.session.begin('make a tensor')
    const buffer = this.operand(list, host, dtype)
    this.session.post(list)
    return this.tensor(buffer, host.shape, { dtype, layout })
  }

  /**
   * The buffer of an argument that was checked before, its ownership included: of a tensor its own (retained), of a
   * host array a new one. The caller releases it.
   */
  operand(list: CommandList, tensor: TensorLike, dtype?: DType): DeviceBuffer {
    if (isBackendTensor(tensor)) return (tensor as CudnnTensor).buffer.retain()
    const { data } = tensor
    const buffer = this.allocate(list, data.length, dtype ?? (data instanceof Int32Array ? 'int32' : this.dtype))
    list.upload(buffer, data)
    return buffer
  }
}
