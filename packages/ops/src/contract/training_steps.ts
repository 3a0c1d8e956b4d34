import type { BackendTensor } from './backend_tensor.js'

/**
 * Training steps of an executor on which launching work takes longer than computing it. Both
 * change the time of computations, never their results.
 */
export interface TrainingSteps {
  /**
   * Runs `step`. Calls to this executor inside it may be recorded and submitted together, and replayed together when they
   * recur with other values. An awaited result, such as the `read()` of a tensor, divides a step: read at its end.
   *
   * Rejects as `step` does, or with the error of a recorded call; a failed call has changed no variable unless its
   * `read()` rejects too.
   */
  run<Result>(step: () => Promise<Result>): Promise<Result>
  /**
   * Calls `updates`; the optimizers' updates called in it (`accumulate` and `update` of {@link DenseOps}) change nothing
   * if one of `scalars` is not finite. The host does not wait for the scalars.
   *
   * @throws RangeError `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_FOREIGN_TENSOR`; errors of `updates`
   */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void
}
