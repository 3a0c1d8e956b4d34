import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { DType } from './dtype.js'

/** Numbers in lists of one depth and one length each. */
export type NestedNumbers = number | readonly NestedNumbers[]

/**
 * A tensor that lives where its executor computes. Only calls of the executor that made it accept it.
 *
 * The memory is released by `dispose()` (or `using`); a finalizer is only a net.
 *
 * `Data` are the elements that `read` gives: everything that an executor computes is of its floating type, and class ids are
 * a `BackendTensor<Int32Array>`.
 */
export interface BackendTensor<Data extends FloatArray | Int32Array = FloatArray> {
  readonly shape: readonly number[]
  readonly dtype: DType
  /**
   * The {@link layoutKey} of the network whose opaque parameters (or their gradient, or an optimizer's slot) this is;
   * undefined for any other tensor.
   */
  readonly layout: string | undefined
  readonly disposed: boolean
  /**
   * The values on the host, once everything queued before this call is done. CPU executors return a view of the live
   * memory and copy nothing; take a `slice()` to keep values beyond the next update or to transfer them.
   *
   * Rejects with `ERR_TENSOR_DISPOSED`, or with the error of the queued work that should have filled the tensor.
   */
  read(): Promise<Tensor<Data>>
  /** The elements of `read()`, in row-major order. */
  data(): Promise<Data>
  /** The elements of `read()` as nested arrays, one level for each dimension; a number for a scalar. */
  toArray(): Promise<NestedNumbers>
  /** Releases the memory; further uses are refused with `ERR_TENSOR_DISPOSED`. Idempotent. */
  dispose(): void
  [Symbol.dispose](): void
}

/** A tensor of numbers or of class ids. */
export type AnyBackendTensor = BackendTensor<FloatArray | Int32Array>

/** Calls take host tensors and the executor's own backend tensors. */
export type TensorLike = Tensor | AnyBackendTensor

/**
 * True for a backend tensor (of any executor), false for a host tensor.
 *
 * @example
 * ```ts
 * import { isBackendTensor, openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * const host = { data: Float32Array.of(1, 2), shape: [2] }
 * console.log(isBackendTensor(host), isBackendTensor(backend.tensor(host))) // false true
 * ```
 */
export function isBackendTensor(value: unknown): value is AnyBackendTensor {
  try {
    return typeof value === 'object' && value !== null && 'read' in value && typeof value.read === 'function'
  } catch {
    // A proxy that refuses to be read.
    return false
  }
}
