import type { BackendTensor } from './backend_tensor.js'

/**
 * What an executor offers to whoever trains step by step, where launching work takes longer than computing it. Both
 * change when things are computed, never what.
 */
export interface TrainingSteps {
  /**
   * Runs `step`. Calls to this executor made in it may be gathered and queued as one, and replayed as one when they come
   * again with other values. What must be waited for, such as the `read()` of a tensor, divides a step: read at its end.
   *
   * Rejects as `step` does, or with the error of what was gathered; what failed has changed no variable unless its
   * `read()` rejects too.
   */
  run<Result>(step: () => Promise<Result>): Promise<Result>
  /**
   * Calls `updates`; the optimizers' updates called in it (`accumulate` and `apply…` of {@link DenseOps}) change nothing
   * where one of `scalars` turns out not to be finite, without anybody waiting for it.
   *
   * @throws RangeError `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_FOREIGN_TENSOR`; whatever `updates` throws
   */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void
}
