import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, liveLength, ownView } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type DType } from '@cudnn-rnn/ops'
import { dtypeOf } from '../arguments/dtype_of.js'
import { ExecutorTensor } from '../memory/executor_tensor.js'
import type { Ledger, LedgerEntry } from '../memory/ledger.js'
import type { Lifetime } from '../memory/lifetime.js'

/** The memory of a tensor: it counts tensors, disposes them with itself, and waits for queued work. */
export interface HostTensorHome {
  readonly ledger: Ledger
  readonly life: Lifetime
  done(job: number): Promise<void>
  /** Prevents the transfer of arrays that callers see while operations may use them. */
  pin(buffer: ArrayBufferLike): void
}

/** A tensor in host memory: a typed array that its executor reads and writes in place. */
export class HostTensor<Data extends FloatArray | Int32Array = FloatArray> extends ExecutorTensor<Data> {
  /** The number of the last queued operation that writes this tensor; 0 for none. */
  job = 0
  readonly sharedId: string | undefined
  readonly #home: HostTensorHome
  readonly #entry: LedgerEntry
  readonly #length: number
  #data: FloatArray | Int32Array | undefined
  /** The result of read(): a view of the same memory. Changes of the view object do not affect the executor's array. */
  #shown: Data | undefined

  /**
   * Takes over `data`.
   *
   * @param sharedId for data that other threads read: the tensor is read-only.
   */
  constructor(
    home: HostTensorHome,
    data: FloatArray | Int32Array,
    shape: readonly number[],
    layout: string | undefined,
    sharedId?: string,
  ) {
    super(shape, dtypeOf(data) as DType, layout)
    this.sharedId = sharedId
    this.#home = home
    this.#data = data
    this.#length = data.length
    this.#entry = home.ledger.enter('tensors', this, data.byteLength)
  }

  /** Whether `tensor` belongs to `home`; a proxy or a copy does not. */
  static isOf(home: HostTensorHome, tensor: unknown): tensor is HostTensor {
    return typeof tensor === 'object' && tensor !== null && #home in tensor && tensor.#home === home
  }

  get disposed(): boolean {
    return this.#data === undefined || this.#home.life.ended
  }

  /**
   * The live elements, which queued work may be about to write.
   *
   * @throws RangeError `ERR_TENSOR_DISPOSED`; `ERR_TENSOR_TRANSFERRED` once the array of `read()` was transferred
   */
  get live(): FloatArray | Int32Array {
    if (this.#data === undefined || this.#home.life.ended) {
      throw codedRangeError(
        'ERR_TENSOR_DISPOSED',
        'Cannot read tensor as it was disposed: keep it until the last read()',
      )
    }
    if (liveLength(this.#data) !== this.#length) {
      throw codedRangeError(
        'ERR_TENSOR_TRANSFERRED',
        `Cannot use tensor as its elements were transferred elsewhere: current number is ${liveLength(this.#data)} of ${this.#length}. Transfer a slice() of the result of read().`,
        { expected: this.#length, actual: liveLength(this.#data) },
      )
    }
    return this.#data
  }

  async read(): Promise<Tensor<Data>> {
    const { live: data, shape } = this
    if (this.job > 0) await this.#home.done(this.job)
    const { array: ArrayOf } = DTYPES[this.dtype]
    if (this.sharedId !== undefined) return { data: ownView(data as Data, ArrayOf as never), shape }
    if (this.#shown === undefined) {
      this.#home.pin(data.buffer)
      this.#shown = new ArrayOf(data.buffer as ArrayBuffer, data.byteOffset, data.length) as Data
    }
    return { data: this.#shown, shape }
  }

  dispose(): void {
    if (this.#data === undefined) return
    this.#entry.leave()
    this.#data = undefined
    this.#shown = undefined
  }
}
