import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { CtcProblem } from './ctc_problem.js'
import type { LinearSizes } from './dense_arguments.js'
import type { LayerKernels } from './layer_kernels.js'
import type {
  CtcLossResult,
  LinearGradients,
  PhasedGateGradients,
  SoftmaxCrossEntropyResult,
} from './operation_results.js'
import type { OptimizerUpdate } from './optimizer_update.js'
import type { PhasedGateOperands, PhasedGateSizes } from './phased_gate_arguments.js'

/**
 * The kernels of an executor for `DenseOps`. Operands are checked: their shapes match, and backend tensors are `Own`. A
 * kernel that throws has changed nothing.
 */
export interface DenseKernels<Own extends BackendTensor> extends LayerKernels<Own> {
  linear(
    operands: { readonly input: TensorLike; readonly kernel: TensorLike; readonly bias: TensorLike },
    sizes: LinearSizes,
  ): Own
  linearGradients(
    operands: { readonly input: TensorLike; readonly kernel: TensorLike; readonly outputGradient: TensorLike },
    sizes: LinearSizes,
  ): LinearGradients
  /** Class ids as they are now, or undefined where they are out of reach; the ids of other kernels are these. */
  readIds(ids: TensorLike): Int32Array | undefined
  embedding(operands: { readonly table: TensorLike; readonly ids: TensorLike }, columns: number): Own
  embeddingGradient(
    operands: { readonly ids: TensorLike; readonly outputGradient: TensorLike },
    sizes: { readonly vocabulary: number; readonly columns: number },
  ): Own
  softmaxCrossEntropy(
    operands: {
      readonly logits: TensorLike
      readonly labels: TensorLike
      readonly weights: TensorLike | undefined
    },
    sizes: { readonly rows: number; readonly classes: number },
  ): SoftmaxCrossEntropyResult
  /** Absent where the executor has no kernel for it. */
  ctcLoss?(operands: { readonly logits: TensorLike }, problem: CtcProblem): CtcLossResult | Promise<CtcLossResult>
  /** Absent where the executor has no kernel for it, and so for its gradients. */
  phasedGate?(operands: PhasedGateOperands, sizes: PhasedGateSizes, leak: number): Own
  phasedGateGradients?(
    operands: PhasedGateOperands & { readonly outputGradient: TensorLike },
    sizes: PhasedGateSizes,
    leak: number,
  ): PhasedGateGradients
  /** The global norm; the tensors are scaled down to `maxNorm` (possibly Infinity) where it is above, and finite. */
  norm(tensors: readonly Own[], maxNorm: number): Own
  assign(variable: Own, source: TensorLike): void
  /** Clamps to -limit…limit. */
  clip(tensors: readonly Own[], limit: number): void
  /** Whether an update of Adam can read its step from a tensor. */
  readonly readsCounts?: boolean
  /** @param written variable and slots, in the order of the rule. @param source gradient, source or mask. */
  update(update: OptimizerUpdate, written: readonly Own[], source: TensorLike | undefined): void
}

/** The operands of one kernel. */
export type KernelOperands<Kernel extends Exclude<keyof DenseKernels<BackendTensor>, 'readsCounts'>> = Parameters<
  NonNullable<DenseKernels<BackendTensor>[Kernel]>
>[0]
