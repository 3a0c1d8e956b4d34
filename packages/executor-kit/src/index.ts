/**
 * Shared parts of executors: argument checks, lifetimes, tapes, tensors in host memory, checked dense
 * operations, Philox random numbers and a row-major matrix product. An executor is put together from these parts.
 *
 * @packageDocumentation
 */

// Arguments

export { checkSelection, selectedCanonical } from './canonical_selection.js'
export { claimForTraining } from './claim_for_training.js'
export { type CtcProblem, checkCtcLoss } from './ctc_problem.js'
export {
  checkEmbedding,
  checkEmbeddingGradient,
  checkHyperparameter,
  checkIdValues,
  checkLinear,
  checkLinearGradients,
  checkSoftmaxCrossEntropy,
  checkUpdate,
  type LinearSizes,
} from './dense_arguments.js'
export { dtypeOf } from './dtype_of.js'
export { checkStreamBatch } from './host/host_stepper.js'
export { type PassShapes, passShapes } from './pass_shapes.js'
export {
  checkBackwardArguments,
  checkForwardArguments,
  checkParams,
  MAX_TIME_STEPS,
  type RnnForwardInputs,
  type RnnForwardOperands,
  type RnnOutputGradients,
  type RnnPassSizes,
} from './rnn_arguments.js'
export { checkSequenceLengths } from './sequence_lengths.js'
export { checkStreamRows, type RowNumbers, StreamRows } from './stream_rows.js'
export {
  checkDimensions,
  checkHostTensor,
  checkIsHostTensor,
  checkIsTensor,
  checkShape,
  checkTensor,
  type Dimension,
  type TensorRule,
  tensorDType,
} from './tensor_arguments.js'

// Dense operations

export { CheckedDenseOps } from './checked_dense_ops.js'
export type { DenseKernels, KernelOperands } from './dense_kernels.js'
export {
  type ColumnBlock,
  type CompleteActivation,
  type CompletePool,
  DROPOUT_COUNTER,
  type DropoutMask,
  type LayerKernels,
  type RowSizes,
  type SequenceSizes,
} from './layer_kernels.js'
export {
  ACTIVATIONS,
  type ActivationName,
  type ActivationOptions,
  type CtcLossOptions,
  ELEMENT_LOSSES,
  type ElementLoss,
  type InfeasibleRows,
  POOLINGS,
  type Pooling,
  type PoolOptions,
} from './operation_options.js'
export type {
  Attention,
  AttentionGradients,
  CtcLossResult,
  ElementLossResult,
  LayerNormGradients,
  LinearGradients,
  PhasedGateGradients,
  SoftmaxCrossEntropyResult,
} from './operation_results.js'
export { checkRuleValue, type OptimizerUpdate, type RuleValues } from './optimizer_update.js'
export type { PhasedGateSizes } from './phased_gate_arguments.js'

// Random numbers

export { dropoutPositionOf, dropoutStateOf } from './dropout_position.js'
export { Philox, philoxBlock } from './philox.js'

// Lifetimes and tapes

export {
  type ArgumentOwner,
  checkOwnTensors,
  type ExecutorMemory,
  ownTensor,
  type VersionedTensor,
} from './executor_memory.js'
export { ExecutorTensor } from './executor_tensor.js'
export { Ledger, type LedgerEntry } from './ledger.js'
export { Lifetime } from './lifetime.js'
export { checkOwnTape, OpenTape } from './open_tape.js'
export { OperandVersions } from './operand_versions.js'
export { RnnTape } from './rnn_tape.js'
export { scope } from './tensor_scope.js'
export { YoungOwners } from './young_owners.js'

// Executors in host memory

export { type ElementwiseFunction, elementwiseFunction } from './elementwise_function.js'
export { hostCtcLoss, logAddExp, logSoftmaxInto } from './host/ctc_loss.js'
export { floatAt } from './host/float_at.js'
export { allocating, floatView, type HostAllocation, outOfMemory, sharedAllocator } from './host/host_allocation.js'
export { HostBackend } from './host/host_backend.js'
export { HostMemory, type OperationQueue } from './host/host_memory.js'
export { checkStream, HostStepper, type StreamKernel } from './host/host_stepper.js'
export { HostTensor } from './host/host_tensor.js'
export { addProduct, type MatrixView, matrix, transposed } from './host/matrix_product.js'
export { pinBuffer } from './host/pin_buffer.js'
export { addColumnSums, addRow, copyRow, fillRows } from './host/rows.js'
export { sigmoid } from './host/sigmoid.js'

// Executors over the kernels of native/cpu

export { openKernelBackend } from './kernels/kernel_backend.js'
export {
  type EmbeddingJob,
  INFEASIBLE_ROWS,
  type KernelNetwork,
  type KernelOperations,
  type KernelQuantizedWeights,
  type KernelStepper,
  type KernelTapeMemory,
  type LstmJob,
  type RegionMove,
  UPDATE_RULES,
} from './kernels/kernel_boundary.js'
export type { KernelExecutor } from './kernels/kernel_executor.js'
export type { HostLstmNorms, HostLstmOperands, LstmGateActivation } from './kernels/kernel_lstm.js'
export type { KernelRnn } from './kernels/kernel_rnn.js'
export { WEIGHT_FORMATS, type WeightFormat } from './kernels/weight_format.js'

// Native addons

export { type LoadedAddon, loadNativeAddon } from './load_native_addon.js'

// Errors and descriptions

export type { ExecutorErrorCode } from './error_codes.js'
export { backendSummary, rnnSummary, tensorSummary } from './summaries.js'
