import type { Backend, BackendTensor, DenseOps } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'

/** The part of an executor that a pass needs: tensors that can be read while the caller waits. */
export type SynchronousDevice = Pick<Backend, 'ops' | 'tensor'> & Required<Pick<Backend, 'readSync'>>

/** The tensors of one pass on a device. They belong to the scope in which the pass runs, which disposes them. */
export class DeviceTensors {
  readonly ops: DenseOps
  readonly #backend: SynchronousDevice
  /** By value and shape. */
  readonly #filled = new Map<string, BackendTensor>()

  constructor(backend: SynchronousDevice) {
    this.#backend = backend
    this.ops = backend.ops
  }

  of(data: Float32Array, shape: readonly number[]): BackendTensor {
    return this.#backend.tensor({ data, shape })
  }

  /** A tensor of one number; it is not written. */
  filled(value: number, shape: readonly number[]): BackendTensor {
    const key = `${value} ${shape.join()}`
    const known = this.#filled.get(key)
    if (known !== undefined) return known
    const made = this.of(new Float32Array(elementCount(shape)).fill(value), shape)
    this.#filled.set(key, made)
    return made
  }

  /** a·b of matrices. */
  product(a: BackendTensor, b: BackendTensor): BackendTensor {
    return this.ops.linear(a, b, this.filled(0, b.shape.slice(1)))
  }

  /** a + scale·b, in new memory. */
  sum(a: BackendTensor, b: BackendTensor, scale = 1): BackendTensor {
    const result = this.ops.reshape(a, a.shape)
    this.ops.accumulate(result, b, scale)
    return result
  }

  multiply(a: BackendTensor, b: BackendTensor): BackendTensor {
    return this.ops.multiply(a, b)
  }

  /** Blocks of `width` columns. */
  split(x: BackendTensor, width: number): BackendTensor[] {
    return Array.from({ length: x.shape[1] / width }, (_, index) => this.ops.columns(x, index * width, width))
  }

  /** The values; JavaScript waits until the device has computed them. */
  read(x: BackendTensor): Float32Array {
    return this.#backend.readSync(x).data as Float32Array
  }
}
