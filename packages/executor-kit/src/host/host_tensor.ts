import { type DType, dtypeOf } from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import type { VersionedTensor } from '../executor_memory.js'
import type { Ledger } from '../ledger.js'
import type { Lifetime } from '../lifetime.js'

/** The memory a tensor lives in: it counts tensors, takes them along when it goes, and waits for queued work. */
export interface HostTensorHome {
  readonly ledger: Ledger
  readonly life: Lifetime
  done(job: number): Promise<void>
}

/** A tensor in host memory: a typed array that its executor reads and writes in place. */
export class HostTensor implements VersionedTensor {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly layout: string | undefined
  readonly home: HostTensorHome
  version = 0
  /** The number of the last queued operation that writes this tensor; 0 for none. */
  job = 0
  #data: FloatArray | Int32Array | undefined

  /** Takes over `data`. */
  constructor(
    home: HostTensorHome,
    data: FloatArray | Int32Array,
    shape: readonly number[],
    layout: string | undefined,
  ) {
    this.home = home
    this.shape = Object.freeze([...shape])
    this.dtype = dtypeOf(data) as DType
    this.layout = layout
    this.#data = data
    home.ledger.add('tensors', data.byteLength)
  }

  get disposed(): boolean {
    return this.#data === undefined || this.home.life.ended
  }

  /** The live elements, which queued work may be about to write. Throws RangeError `ERR_TENSOR_DISPOSED`. */
  get data(): FloatArray | Int32Array {
    if (this.#data === undefined || this.home.life.ended) {
      throw codedRangeError('ERR_TENSOR_DISPOSED', 'Cannot read tensor as it was disposed')
    }
    return this.#data
  }

  async read(): Promise<Tensor> {
    const { data, shape } = this
    if (this.job > 0) await this.home.done(this.job)
    return { data, shape }
  }

  dispose(): void {
    if (this.#data === undefined) return
    this.home.ledger.remove('tensors', this.#data.byteLength)
    this.#data = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
