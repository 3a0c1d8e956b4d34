import type { BackendTensor, TensorLike } from './backend_tensor.js'

/**
 * Functions applied to every element; `softmax` runs over the last dimension. `elu` has α = 1. All are differentiable from
 * their result alone.
 */
type ActivationName = 'tanh' | 'sigmoid' | 'relu' | 'elu' | 'softplus' | 'softmax'

/**
 * Options of an activation.
 *
 * @inline
 */
type ActivationOptions = {
  /** Maximum of `relu`: min(max(x, 0), maximum), positive; its derivative there is 0. Default: none. */
  readonly maximum?: number | undefined
}

/** How the steps of a sequence become one: the last one, their mean, or the largest of each column. */
type Pooling = 'last' | 'mean' | 'max'

/** Losses that compare predictions with targets of the same shape. */
type ElementLoss = 'squared_error' | 'absolute_error' | 'sigmoid_cross_entropy'

/** @inline */
type DropoutOptions = {
  /** Probability 0..1 with which an element becomes 0; the others are divided by 1 - rate. */
  readonly rate: number
  /** Integer in 0..2^53-1. */
  readonly seed: number
  /**
   * Number of the mask, an integer in 0..2^48-1. Element i of mask n is a pure function of (seed, n, i), the same on every
   * executor: the backward draws the mask again, and a resumed run needs the number alone.
   */
  readonly draw: number
}

/** @inline */
type LayerNormOptions = {
  /** Added to the variance. */
  readonly epsilon: number
}

/** @inline */
type LayerNormGradients = {
  readonly input: BackendTensor
  readonly gamma: BackendTensor
  readonly beta: BackendTensor
}

/** @inline */
type PoolOptions = {
  /** Which. */
  readonly pooling: Pooling
  /**
   * For `last`: columns from this one on were computed from the end of the sequence to its beginning, so that their last
   * step is step 0. Default: none.
   */
  readonly reversedFrom?: number | undefined
}

/** @inline */
type Attention = {
  /** [B,E] */
  readonly output: BackendTensor
  /** [T,B,1], 0 past each row's length, else summing to 1 over a row's steps. */
  readonly weights: BackendTensor
}

/** @inline */
type AttentionGradients = {
  readonly input: BackendTensor
  /** [T,B,1] */
  readonly scores: BackendTensor
}

/** @inline */
type ElementLossResult = {
  /** Scalar: mean over the columns of a row, and over the rows that count. */
  readonly loss: BackendTensor
  /** Gradient of `loss` with respect to the predictions. */
  readonly gradient: BackendTensor
}

/**
 * The operations of layers around a recurrent network, on the executor's memory; as `DenseOps`, calls queue work and return.
 *
 * Sequences are [T,B,E]. `lengths` is [B], int32, values in 0..T, or null if every row has T steps; a row of length 0
 * gives zeros. The gradients take the operands of the forward: nothing is kept in between.
 */
export interface LayerOps {
  /** y [...] = f(x). */
  activate(input: TensorLike, activation: ActivationName, options?: ActivationOptions): BackendTensor
  /** ∂x from y = f(x) and ∂y. */
  activationGradient(
    output: TensorLike,
    outputGradient: TensorLike,
    activation: ActivationName,
    options?: ActivationOptions,
  ): BackendTensor
  /** y = x·mask/(1 - rate). Its own gradient: apply it to ∂y. */
  dropout(input: TensorLike, options: DropoutOptions): BackendTensor
  /** y [...,E] = gamma·(x - mean)/√(variance + ε) + beta; mean and (biased) variance over the last dimension. */
  layerNorm(input: TensorLike, gamma: TensorLike, beta: TensorLike, options: LayerNormOptions): BackendTensor
  layerNormGradients(
    input: TensorLike,
    gamma: TensorLike,
    outputGradient: TensorLike,
    options: LayerNormOptions,
  ): LayerNormGradients
  /** x, zero past each row's length. Its own gradient. */
  maskSequence(input: TensorLike, lengths: TensorLike | null): BackendTensor
  /** y[t,b] = x[length[b]-1-t,b], zero past the length. Its own gradient. */
  reverseSequence(input: TensorLike, lengths: TensorLike | null): BackendTensor
  /** [T,B,E] to [B,E]. */
  poolSequence(input: TensorLike, lengths: TensorLike | null, options: PoolOptions): BackendTensor
  /** ∂x [T,B,E]. The gradient of a maximum is added to the first of equal steps. */
  poolSequenceGradient(
    input: TensorLike,
    lengths: TensorLike | null,
    outputGradient: TensorLike,
    options: PoolOptions,
  ): BackendTensor
  /** output[b] = Σ_t weights[t,b]·x[t,b], weights = softmax over a row's steps of scores [T,B,1]. */
  attend(input: TensorLike, scores: TensorLike, lengths: TensorLike | null): Attention
  attendGradients(input: TensorLike, weights: TensorLike, outputGradient: TensorLike): AttentionGradients
  /**
   * Loss of predictions [...,O] against targets [...,O], with its gradient. `weights` [...] scales rows (0 masks a padded
   * step); the mean divides by their sum, or by the number of rows without them. `sigmoid_cross_entropy` takes logits.
   */
  elementLoss(predictions: TensorLike, targets: TensorLike, loss: ElementLoss, weights?: TensorLike): ElementLossResult
}
