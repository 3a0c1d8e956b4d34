import type { BackendTensor, TensorLike } from './backend_tensor.js'

/** @inline */
type ReductionOptions = {
  /** Which dimensions, negative ones from the last on. Default: all. */
  readonly axes?: readonly number[] | undefined
  /** Whether they stay, as dimensions of size 1. Default: false. */
  readonly keepDims?: boolean | undefined
}

/** @inline */
type ProductOptions = {
  /** a is [...,K,M]. Default: false. */
  readonly transposeA?: boolean | undefined
  /** b is [...,N,K]. Default: false. */
  readonly transposeB?: boolean | undefined
}

/** @inline */
type AxisOptions = {
  /** Negative ones count from the last dimension on. */
  readonly axis?: number | undefined
}

/** @inline */
type DrawOptions = {
  /** Integer in 0..2^53-1. */
  readonly seed: number
  /** Number of the tensor, an integer in 0..2^48-1: each element is a pure function of (seed, draw, its place). */
  readonly draw: number
}

/**
 * Operations on tensors of any shape; as `DenseOps`, calls queue work and return.
 *
 * Two operands broadcast by NumPy's rule: aligned at the last dimension, their sizes are equal or one of them is 1, which repeats.
 * Sums have double precision. Neighboring dimensions that are treated alike are one group: up to four groups are computed,
 * more are refused with `ERR_SHAPE`.
 */
export interface TensorOps {
  add(a: TensorLike, b: TensorLike): BackendTensor
  subtract(a: TensorLike, b: TensorLike): BackendTensor
  multiply(a: TensorLike, b: TensorLike): BackendTensor
  divide(a: TensorLike, b: TensorLike): BackendTensor
  /** NaN if one is. */
  minimum(a: TensorLike, b: TensorLike): BackendTensor
  /** NaN if one is. */
  maximum(a: TensorLike, b: TensorLike): BackendTensor
  /** a to the power of b. */
  power(a: TensorLike, b: TensorLike): BackendTensor
  /** 1 if a > b, else 0. */
  greater(a: TensorLike, b: TensorLike): BackendTensor
  /** 1 if a < b, else 0. */
  less(a: TensorLike, b: TensorLike): BackendTensor
  /** 1 if a = b, else 0. */
  equal(a: TensorLike, b: TensorLike): BackendTensor
  /** a if `condition` is not 0, else b; all three broadcast. */
  select(condition: TensorLike, a: TensorLike, b: TensorLike): BackendTensor
  exp(input: TensorLike): BackendTensor
  /** The natural logarithm. */
  log(input: TensorLike): BackendTensor
  sqrt(input: TensorLike): BackendTensor
  abs(input: TensorLike): BackendTensor
  negate(input: TensorLike): BackendTensor
  square(input: TensorLike): BackendTensor
  sin(input: TensorLike): BackendTensor
  cos(input: TensorLike): BackendTensor
  sum(input: TensorLike, options?: ReductionOptions): BackendTensor
  /** NaN of no elements. */
  mean(input: TensorLike, options?: ReductionOptions): BackendTensor
  /** NaN if an element is. Throws `ERR_SHAPE` for no elements. */
  max(input: TensorLike, options?: ReductionOptions): BackendTensor
  /** a [...,M,K] · b [...,K,N]: [...,M,N]. The leading dimensions are the same, or one operand has none. */
  matmul(a: TensorLike, b: TensorLike, options?: ProductOptions): BackendTensor
  /** Joins tensors along one dimension, by default the last; their other sizes are equal. */
  concat(inputs: readonly TensorLike[], options?: AxisOptions): BackendTensor
  /** Joins tensors of one shape along a new dimension, by default the first. */
  stack(inputs: readonly TensorLike[], options?: AxisOptions): BackendTensor
  /** A copy of x with another shape of as many elements, in row-major order. */
  reshape(input: TensorLike, shape: readonly number[]): BackendTensor
  /** x repeated to a shape, by the rule of broadcasting. */
  broadcast(input: TensorLike, shape: readonly number[]): BackendTensor
  /** Dimension `order[k]` of x as dimension k of the result. */
  transpose(input: TensorLike, order: readonly number[]): BackendTensor
  /** `sizes[k]` elements from `begins[k]` on, in each dimension k. */
  slice(input: TensorLike, begins: readonly number[], sizes: readonly number[]): BackendTensor
  /** x with `before[k]` zeros in front of it and `after[k]` behind it, in each dimension k. */
  pad(input: TensorLike, before: readonly number[], after: readonly number[]): BackendTensor
  /** Columns begin..begin+count-1 of x [...,E]: [...,count]. */
  columns(input: TensorLike, begin: number, count: number): BackendTensor
  /** 1 in the column of each id of ids [...] (int32), 0 in the others: [...,classes]. */
  oneHot(ids: TensorLike, classes: number): BackendTensor
  /** Numbers in 0..1, below 1, with 24 bits; the same on every executor. */
  uniform(shape: readonly number[], options: DrawOptions): BackendTensor
  /** Numbers of the standard normal distribution, by Box and Muller's transform. */
  normal(shape: readonly number[], options: DrawOptions): BackendTensor
}
