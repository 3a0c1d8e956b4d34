import { type BackendTensor, type DType, dtypeOf, type Ledger } from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'

/** The memory a tensor lives in: it counts tensors, and takes them along when it goes. */
export interface TensorOwner {
  readonly ledger: Ledger
  readonly disposed: boolean
}

/** A tensor of the reference executor: a typed array on the JavaScript heap. */
export class ReferenceTensor implements BackendTensor {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly layout: string | undefined
  readonly memory: TensorOwner
  /** Grows with every operation that writes in place; a tape compares it to notice overwritten operands. */
  version = 0
  #data: FloatArray | Int32Array | undefined

  constructor(
    memory: TensorOwner,
    data: FloatArray | Int32Array,
    shape: readonly number[],
    layout: string | undefined,
  ) {
    this.memory = memory
    this.shape = Object.freeze([...shape])
    this.dtype = dtypeOf(data) as DType
    this.layout = layout
    this.#data = data
    memory.ledger.add('tensors', data.byteLength)
  }

  get disposed(): boolean {
    return this.#data === undefined || this.memory.disposed
  }

  /** The live elements. Throws RangeError `ERR_TENSOR_DISPOSED`. */
  get data(): FloatArray | Int32Array {
    if (this.#data === undefined || this.memory.disposed) {
      throw codedRangeError('ERR_TENSOR_DISPOSED', 'Cannot read tensor as it was disposed')
    }
    return this.#data
  }

  async read(): Promise<Tensor> {
    return { data: this.data, shape: this.shape }
  }

  dispose(): void {
    if (this.#data === undefined) return
    this.memory.ledger.remove('tensors', this.#data.byteLength)
    this.#data = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
