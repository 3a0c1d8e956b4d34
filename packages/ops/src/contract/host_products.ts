import type { FloatArray } from '@cudnn-rnn/canonical'

/**
 * A matrix inside a typed array: element (i, j) is `data[offset + i·rowStride + j·columnStride]`.
 *
 * @inline
 */
type MatrixView = {
  readonly data: FloatArray
  readonly offset: number
  readonly rowStride: number
  readonly columnStride: number
}

/** Products of matrices in host memory, done when the call returns: for recurrences that the executor has no network for. */
export interface HostProducts {
  /**
   * C[M,N] += A[M,K] · B[K,N], all in the executor's dtype. It waits for the operations that the executor has queued.
   *
   * @throws `ERR_BACKEND_DISPOSED`, `ERR_OUT_OF_MEMORY`; RangeError if an array is too short for its view
   */
  addProduct(c: MatrixView, a: MatrixView, b: MatrixView, m: number, n: number, k: number): void
}
