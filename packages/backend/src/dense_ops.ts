import type { Tensor } from '@cudnn-rnn/canonical'
import type { BackendTensor, TensorLike } from './backend_tensor.js'
import type { CtcLossOptions, CtcLossResult } from './ctc_loss.js'
import type { LayerOps } from './layer_ops.js'

export interface LinearGradients {
  readonly input: BackendTensor
  readonly kernel: BackendTensor
  readonly bias: BackendTensor
}

export interface SoftmaxCrossEntropyResult {
  /** Scalar: mean over the rows that count, natural logarithm. */
  readonly loss: BackendTensor
  /** [N,V], gradient of `loss` with respect to the logits. */
  readonly logitsGradient: BackendTensor
}

export interface AdamOptions {
  readonly learningRate: number
  /** Default 0.9 */
  readonly beta1?: number | undefined
  /** Default 0.999 */
  readonly beta2?: number | undefined
  /** Default 1e-8, added to the root of the bias-corrected second moment (Kingma & Ba's algorithm 1, PyTorch's). */
  readonly epsilon?: number | undefined
  /**
   * Default false. True: ε is the paper's ε̂, added to √v before the bias correction (TensorFlow, Keras), which is
   * ε/√(1−β₂ᵗ) after it.
   */
  readonly epsilonHat?: boolean | undefined
  /**
   * t, 1 for the first update. On executors with {@link Backend.steps} also a scalar tensor that counts updates and is
   * read when this one runs: a count that `whereFinite` guards leaves skipped updates out. float32 counts to 2²⁴.
   */
  readonly step: number | BackendTensor
}

export interface MomentumOptions {
  readonly learningRate: number
  readonly momentum: number
  /** Default false. */
  readonly nesterov?: boolean | undefined
  /**
   * Default false: the rate multiplies the velocity (PyTorch, TensorFlow's `ApplyMomentum`). True: it multiplies the
   * increment of the velocity (Keras), which differs when the rate changes.
   */
  readonly rateInVelocity?: boolean | undefined
}

/** The place of the small number that keeps a division finite: √x + ε (PyTorch) or √(x + ε) (Keras, TensorFlow's RMSProp). */
export interface RootOptions {
  readonly epsilon: number
  /** Default false: √x + ε. True: √(x + ε). */
  readonly epsilonInRoot?: boolean | undefined
}

export interface RmsPropOptions extends RootOptions {
  readonly learningRate: number
  /** Default 0.9: how much of the mean square remains (PyTorch's alpha, TensorFlow's rho). */
  readonly decay?: number | undefined
  /** Default 0. */
  readonly momentum?: number | undefined
  /** As in {@link MomentumOptions}. */
  readonly rateInVelocity?: boolean | undefined
}

export interface AdagradOptions extends RootOptions {
  readonly learningRate: number
}

/** The variables [U] of phased gates (Neil, Pfeiffer & Liu 2016). */
export interface PhasedGateVariables<Vector extends TensorLike = TensorLike> {
  /** In the unit of the times, > 0. */
  readonly period: Vector
  /** The time at which a period begins. */
  readonly phase: Vector
  /** The part of a period in which the gate is open, > 0. */
  readonly ratioOn: Vector
}

export interface PhasedGateOptions {
  /** Openness of a closed gate per phase. */
  readonly leak: number
}

export interface PhasedGateGradients extends PhasedGateVariables<BackendTensor> {
  /** [B,1] */
  readonly times: BackendTensor
}

/**
 * The dense operations that training needs, on the executor's memory. Calls queue work and return; a later failure
 * rejects the `read()` of a result. Integer arguments are int32 tensors; everything else has the executor's dtype.
 *
 * Leading dimensions are free: an input [T,B,I] is N = T·B rows.
 */
export interface DenseOps extends LayerOps {
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
   * host, with its gradient. Absent where an executor has no kernel for it. A promise where the executor must query its
   * device first.
   */
  ctcLoss?(
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
  /** √(Σ‖t‖²) over all tensors, as a scalar. */
  globalNorm(tensors: readonly BackendTensor[]): BackendTensor
  /** Scales all tensors in place by min(1, maxNorm / globalNorm); returns the norm before, as a scalar. */
  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): BackendTensor
  /** variable ← source */
  assign(variable: BackendTensor, source: TensorLike): void
  /** variable ← variable + scale · source (scale 1 by default). */
  accumulate(variable: BackendTensor, source: TensorLike, scale?: number): void
  /** variable ← variable − learningRate · gradient */
  applySgd(variable: BackendTensor, gradient: TensorLike, options: { readonly learningRate: number }): void
  /** v ← momentum·v + g;  variable ← variable − learningRate·v  (nesterov: − learningRate·(g + momentum·v)) */
  applyMomentum(variable: BackendTensor, velocity: BackendTensor, gradient: TensorLike, options: MomentumOptions): void
  /** m ← β₁m+(1−β₁)g;  v ← β₂v+(1−β₂)g²;  variable ← variable − lr·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε) */
  applyAdam(
    variable: BackendTensor,
    firstMoment: BackendTensor,
    secondMoment: BackendTensor,
    gradient: TensorLike,
    options: AdamOptions,
  ): void
  /**
   * s ← decay·s + (1−decay)·g²;  v ← momentum·v + g/root(s);  variable ← variable − learningRate·v, with root as in
   * {@link RootOptions} (rateInVelocity: the rate multiplies g/root(s) instead).
   */
  applyRmsProp(
    variable: BackendTensor,
    meanSquare: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: RmsPropOptions,
  ): void
  /** s ← s + g²;  variable ← variable − learningRate·g/root(s), with root as in {@link RootOptions}. */
  applyAdagrad(
    variable: BackendTensor,
    sumOfSquares: BackendTensor,
    gradient: TensorLike,
    options: AdagradOptions,
  ): void
  /**
   * variable ← variable − rate·mask·variable: decoupled weight decay. `mask` has the variable's shape and holds 0 where
   * nothing decays (the biases inside an opaque buffer); without one everything decays.
   */
  applyWeightDecay(
    variable: BackendTensor,
    options: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void
  /** Clamps every element of all tensors in place to −limit…limit; NaN stays. */
  clipByValue(tensors: readonly BackendTensor[], limit: number): void
}
