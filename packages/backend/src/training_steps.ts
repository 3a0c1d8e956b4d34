import type { BackendTensor } from './backend_tensor.js'

/**
 * Training steps of an executor on which launching work takes longer than computing it. Both
 * change the time of computations, never their results.
 */
export interface TrainingSteps {
  /**
   * Runs `step`. Calls to this executor made in it may be gathered and queued as one, and replayed as one when they are
   * again with other values. An awaited result, such as the `read()` of a tensor, divides a step: read at its end.
   *
   * Rejects as `step` does, or with the error of a recorded call; a failed call has changed no variable unless its
   * `read()` rejects too.
   */
  run<Result>(step: () => Promise<Result>): Promise<Result>
  /**
   * Calls `updates`; the optimizers' updates called in it (`accumulate` and `update` of {@link DenseOps}) change nothing
   * where one of `scalars` turns out not to be finite, without anybody waiting for it.
   *
   * @throws RangeError `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_FOREIGN_TENSOR`; errors of `updates`
   */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void
}
