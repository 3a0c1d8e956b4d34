import type { FloatArray } from '@cudnn-rnn/canonical'
import type { BackendTensor } from './backend_tensor.js'

/**
 * Properties of a tensor over shared memory.
 *
 * @inline
 */
type SharedTensorOptions = {
  readonly shape: readonly number[]
  /** Like `BackendTensor.layout`. */
  readonly layout: string | undefined
  /** Names the elements in all threads: an executor keeps one copy of derived data, such as quantized weights, for each id. */
  readonly id: string
}

/** Memory of an executor that all threads of a process read. It lives until the last thread has let go of it. */
export interface SharedMemory {
  /**
   * A zeroed array in the executor's dtype over a `SharedArrayBuffer`, aligned as the kernels read it.
   *
   * @throws RangeError `ERR_OUT_OF_MEMORY`
   */
  allocate(length: number): FloatArray
  /**
   * A tensor over `elements` themselves. It is read-only, because other threads read them at the same time; `read()`
   * returns a copy.
   *
   * @throws RangeError `ERR_BACKEND_DISPOSED`
   */
  tensor(elements: FloatArray, options: SharedTensorOptions): BackendTensor
}
