import type { Tensor } from '@cudnn-rnn/canonical'
import type { BackendTensor, TensorLike } from './backend_tensor.js'
import type { CtcLossOptions, CtcLossResult } from './ctc_loss.js'
import type { LayerOps } from './layer_ops.js'
import type { OptimizerOptions, OptimizerRule, OptimizerSlots, OptimizerSource } from './optimizer_rules.js'
import type { TensorOps } from './tensor_ops.js'

/** @inline */
type LinearGradients = {
  readonly input: BackendTensor
  readonly kernel: BackendTensor
  readonly bias: BackendTensor
}

/** @inline */
type SoftmaxCrossEntropyResult = {
  /** Scalar: mean over the rows that count, natural logarithm. */
  readonly loss: BackendTensor
  /** [N,V], gradient of `loss` with respect to the logits. */
  readonly logitsGradient: BackendTensor
}

/**
 * The variables [U] of phased gates (Neil, Pfeiffer & Liu 2016).
 *
 * @inline
 */
type PhasedGateVariables<Vector extends TensorLike = TensorLike> = {
  /** In the unit of the times, > 0. */
  readonly period: Vector
  /** The time at which a period begins. */
  readonly phase: Vector
  /** The part of a period in which the gate is open, > 0. */
  readonly ratioOn: Vector
}

/** @inline */
type PhasedGateOptions = {
  /** Openness of a closed gate per phase. */
  readonly leak: number
}

/** @inline */
type PhasedGateGradients = PhasedGateVariables<BackendTensor> & {
  /** [B,1] */
  readonly times: BackendTensor
}

/**
 * The dense operations that training needs, on the executor's memory. Calls queue work and return; a later failure
 * rejects the `read()` of a result. Integer arguments are int32 tensors; everything else has the executor's dtype.
 *
 * Leading dimensions are free: an input [T,B,I] is N = T·B rows.
 */
export interface DenseOps extends LayerOps, TensorOps {
  /** y [...,O] = x [...,I] · kernel [I,O] + bias [O]. */
  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): BackendTensor
  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients
  /** Rows of table [V,E] by ids [...]: [...,E]. Throws `ERR_ID_OUT_OF_RANGE` on host executors. */
  embedding(table: TensorLike, ids: TensorLike): BackendTensor
  /** Scatter-add of outputGradient [...,E] by ids [...] into zeros [V,E]. */
  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): BackendTensor
  /**
   * Stable softmax cross-entropy of logits [...,V] against labels [...] (int32 class ids), with its gradient.
   * `weights` [...] scales rows (0 masks a padded step); the mean divides by their sum, or by N without them.
   */
  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult
  /**
   * Connectionist temporal classification: loss of logits [T,B,K] (softmax is part of it) against labels [B,S] on the
   * host, with its gradient. A promise if the executor must query its device first.
   */
  ctcLoss(
    logits: TensorLike,
    labels: Tensor<Int32Array>,
    options: CtcLossOptions,
  ): CtcLossResult | Promise<CtcLossResult>
  /**
   * The openness [B,U] of the gates of a `PhasedLSTMCell` at the times [B,1]. Absent on executors in host memory, where the
   * cell computes it.
   */
  phasedGate?(times: TensorLike, variables: PhasedGateVariables, options: PhasedGateOptions): BackendTensor
  /** Gradients with respect to the operands of {@link phasedGate}, from that with respect to its result [B,U]. */
  phasedGateGradients?(
    times: TensorLike,
    variables: PhasedGateVariables,
    outputGradient: TensorLike,
    options: PhasedGateOptions,
  ): PhasedGateGradients
  /** √(Σ‖t‖²) over all tensors, each counted once, as a scalar. */
  globalNorm(tensors: readonly BackendTensor[]): BackendTensor
  /** Scales all tensors in place, each once, by min(1, maxNorm / globalNorm); returns the norm before, as a scalar. */
  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): BackendTensor
  /** variable ← source */
  assign(variable: BackendTensor, source: TensorLike): void
  /** variable ← variable + scale · source (scale 1 by default). */
  accumulate(variable: BackendTensor, source: TensorLike, scale?: number): void
  /**
   * Updates a variable and its slots in place by one of {@link OPTIMIZER_RULES}; docs/optimizer_rules.md has the equations.
   *
   * @param slots of the variable's shape and layout, in the order of the rule
   * @param source the gradient; of `weightDecay` a mask in the variable's shape that is 0 if nothing decays (the biases
   *   inside an opaque buffer), or null if everything decays
   * @throws RangeError `ERR_HYPERPARAMETER`, `ERR_SHAPE`, `ERR_OTHER_LAYOUT`, `ERR_TENSOR_DISPOSED`, `ERR_INVALID_OPTION`;
   *   TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`, `ERR_FOREIGN_TENSOR`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`,
   *   `ERR_INVALID_ARGUMENT`
   */
  update<Rule extends OptimizerRule>(
    rule: Rule,
    variable: BackendTensor,
    slots: OptimizerSlots<Rule>,
    source: OptimizerSource<Rule>,
    options: OptimizerOptions<Rule>,
  ): void
  /** Clamps every element of all tensors in place to −limit…limit; NaN stays. */
  clipByValue(tensors: readonly BackendTensor[], limit: number): void
}
