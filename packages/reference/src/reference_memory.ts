import { DTYPES, type FloatDType, isBackendTensor, Ledger, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, codedTypeError, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { ReferenceTensor } from './reference_tensor.js'

/** The memory of one reference executor: makes tensors, counts them, and tells its own from foreign ones. */
export class ReferenceMemory {
  readonly dtype: FloatDType
  readonly ledger = new Ledger()
  #disposed = false

  constructor(dtype: FloatDType) {
    this.dtype = dtype
  }

  get disposed(): boolean {
    return this.#disposed
  }

  dispose(): void {
    this.#disposed = true
  }

  /** Throws RangeError `ERR_BACKEND_DISPOSED` once the executor was disposed. */
  checkAlive(action: string): void {
    if (!this.#disposed) return
    throw codedRangeError('ERR_BACKEND_DISPOSED', `Cannot ${action} as the backend was disposed`)
  }

  /** A zeroed array in the executor's dtype. */
  readonly allocate = (length: number): FloatArray => new DTYPES[this.dtype].array(length)

  /** A tensor that owns `data`; zeros when none is given. */
  create(shape: readonly number[], data?: FloatArray | Int32Array, layout?: string): ReferenceTensor {
    return new ReferenceTensor(this, data ?? this.allocate(elementCount(shape)), shape, layout)
  }

  /**
   * The elements of an argument that was checked before, without a copy.
   *
   * @throws TypeError `ERR_FOREIGN_TENSOR` for a backend tensor of another executor
   */
  elements(action: string, name: string, tensor: TensorLike): FloatArray | Int32Array {
    return isBackendTensor(tensor) ? this.own(action, name, tensor).data : tensor.data
  }

  /** As {@link elements}, for an argument checked to be of the executor's floating dtype. */
  floats(action: string, name: string, tensor: TensorLike): FloatArray {
    return this.elements(action, name, tensor) as FloatArray
  }

  /** `tensor` as a tensor of this executor; throws as {@link elements}. */
  own(action: string, name: string, tensor: TensorLike): ReferenceTensor {
    if (tensor instanceof ReferenceTensor && tensor.memory === this) return tensor
    throw codedTypeError(
      'ERR_FOREIGN_TENSOR',
      `Cannot ${action} as ${name} belongs to another executor: read() it and pass the host tensor`,
      { argument: name },
    )
  }
}
