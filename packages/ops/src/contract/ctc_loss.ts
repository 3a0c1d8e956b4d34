import type { BackendTensor } from './backend_tensor.js'

/**
 * Loss and gradient of a row without a valid path: too many labels, too many repeats, or only paths of probability 0.
 *
 * - `infinite`: loss ∞, gradient softmax(logits), as TensorFlow's op
 * - `nan`: loss ∞, gradient NaN, as PyTorch
 * - `zero`: loss 0, gradient 0, as PyTorch's `zero_infinity`
 */
type InfeasibleRows = 'infinite' | 'nan' | 'zero'

/** @inline */
export type CtcLossOptions = {
  /** [B], time steps of each row, 0..T; later steps are not read, and their gradient is 0. */
  readonly logitLengths: readonly number[] | Int32Array
  /** [B], labels of each row, 0..S. */
  readonly labelLengths: readonly number[] | Int32Array
  /** Class of the blank, 0..K-1. */
  readonly blank: number
  /**
   * Default true: a label that is repeated without a blank between counts once. False: every frame that is not blank is
   * its own label.
   */
  readonly mergeRepeated?: boolean | undefined
  /** Default `infinite`. */
  readonly infeasible?: InfeasibleRows | undefined
  /** [B], factor of each row; a row of factor 0 is left out: its loss and gradient are 0. Default 1. */
  readonly rowWeights?: readonly number[] | Float32Array | Float64Array | undefined
}

/** @inline */
export type CtcLossResult = {
  /** Scalar: Σ rowWeights·rowLosses. */
  readonly loss: BackendTensor
  /** [B], -ln p(labels | logits) of each row, unweighted. */
  readonly rowLosses: BackendTensor
  /** [T,B,K], gradient of `loss` with respect to the logits. */
  readonly logitsGradient: BackendTensor
}
