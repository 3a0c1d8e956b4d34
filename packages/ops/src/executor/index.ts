/**
 * Shared parts of executors: argument checks, lifetimes, tapes, tensors in host memory, checked dense
 * operations, Philox random numbers and a row-major matrix product. An executor is put together from these parts.
 *
 * @packageDocumentation
 */

// Arguments

export { BACKEND, checkIsBackend } from './arguments/backend_argument.js'
export { checkSelection, selectedCanonical } from './arguments/canonical_selection.js'
export { type CtcLabels, collapseRepeated, integerLabels, paddedLabels } from './arguments/ctc_labels.js'
export { type CtcProblem, checkCtcLoss } from './arguments/ctc_problem.js'
export { dtypeOf } from './arguments/dtype_of.js'
export { full, tensor, zeros } from './arguments/host_tensors.js'
export { checkHyperparameter, hyperparameter } from './arguments/hyperparameter.js'
export { type PassShapes, passShapes } from './arguments/pass_shapes.js'
export {
  checkCellState,
  checkBackwardArguments,
  checkForwardArguments,
  checkParams,
  MAX_TIME_STEPS,
  type RnnForwardInputs,
  type RnnForwardOperands,
  type RnnOutputGradients,
  type RnnPassSizes,
} from './arguments/rnn_arguments.js'
export { checkSequenceLengths } from './arguments/sequence_lengths.js'
export { checkStreamRows, type RowNumbers, StreamRows } from './arguments/stream_rows.js'
export { checkedStreamState, tensorsOfState } from './arguments/stream_state.js'
export {
  checkDimensions,
  checkHostTensor,
  checkIsHostTensor,
  checkIsTensor,
  checkShape,
  checkTensor,
  type Dimension,
  type Frame,
  frameTensor,
  type TensorRule,
  tensorDType,
} from './arguments/tensor_arguments.js'
export { checkStreamBatch } from './host/host_stepper.js'
export { claimForTraining } from './memory/claim_for_training.js'

// Operations

export { checkRuleValue, type OptimizerUpdate, type RuleValues } from './arguments/optimizer_update.js'
export { checkUpdate, type StatementKernels } from './operations/statements.js'
export { checkedOperations, type OperationKernels } from './operations/checked_operations.js'
export { CHECKED_ROWS, type CheckedRow, checkIdValues } from './operations/checked_row.js'
export { DROPOUT_COUNTER, type DropoutMask } from './operations/dropout_mask.js'
export {
  ACTIVATIONS,
  type ActivationName,
  type ActivationOptions,
  type CtcLossOptions,
  type CtcLossResult,
  ELEMENT_LOSSES,
  type ElementLoss,
  type InfeasibleRows,
  POOLINGS,
  type Pooling,
  type PoolOptions,
} from './operations/operation_types.js'
export { EXAMPLE_SIZES, exampleShape, type Pattern } from './operations/pattern.js'
export type { GradientRule } from './operations/row.js'
export type {
  HostRowName,
  KernelNumbers,
  KernelOperands,
  RowKernels,
  RowName,
  TensorRowName,
} from './operations/table.js'
export { type Products, type RandomDraw, TENSOR_ROWS } from './operations/tensor_rows.js'
export { viewOffset, type Walk, walkCount } from './operations/walk.js'

// Tapes of operations

export { Program, type ProgramCompute, placeOf } from './tape/program.js'
export { type Entry, type Operand, Recording } from './tape/recording.js'
export { type Cell, type CellState, type ScanOptions, type ScanResult, scan, tapeRule } from './tape/scan.js'
export { type GradientTape, handleOf, isTapeHandle, type TapeHandle, type TapeOperations } from './tape/tape_handle.js'
export { isValue, Value } from './tape/value.js'
export { grad, infer, lossGradients, onTape, type ValueAndGradients, valueAndGrad } from './tape/value_and_grad.js'
export {
  backendOf,
  checkOptimizes,
  type GradientsOf,
  isVariable,
  type TapeVariable,
  type Variables,
  variablesIn,
} from './tape/variables.js'
export { withGradient } from './tape/with_gradient.js'

// Random numbers

export { ofDtype } from './arguments/of_dtype.js'
export { Philox, philoxBlock } from './philox.js'

// Lifetimes and tapes

export {
  type ArgumentOwner,
  checkOwnTensors,
  type ExecutorMemory,
  ownTensor,
  type VersionedTensor,
} from './memory/executor_memory.js'
export { ExecutorRnn } from './memory/executor_rnn.js'
export { ExecutorTensor } from './memory/executor_tensor.js'
export { Ledger, type LedgerEntry } from './memory/ledger.js'
export { Lifetime } from './memory/lifetime.js'
export { checkOwnTape, OpenTape } from './memory/open_tape.js'
export { OperandVersions, RnnTape } from './memory/rnn_tape.js'
export { scope } from './memory/tensor_scope.js'
export { YoungOwners } from './memory/young_owners.js'

// Executors in host memory

export { hostCtcLoss, logAddExp, logSoftmaxInto } from './host/ctc_loss.js'
export { ELEMENT_FUNCTIONS, elementFunctionOf, REDUCTIONS } from './host/element_functions.js'
export { type ElementwiseFunction, elementwiseFunction } from './host/elementwise_function.js'
export { embedding, embeddingGradient } from './host/embedding.js'
export { floatAt } from './host/float_at.js'
export { clipToNorm } from './host/global_norm.js'
export { allocating, floatView, type HostAllocation, outOfMemory, sharedAllocator } from './host/host_allocation.js'
export { HostBackend } from './host/host_backend.js'
export { type HostCompute, type HostOperands, hostKernels } from './host/host_kernels.js'
export { HostMemory, type OperationQueue } from './host/host_memory.js'
export { hostRow } from './host/host_row.js'
export { HostRnn } from './host/host_rnn.js'
export { HostStates } from './host/host_states.js'
export type { StreamKernel } from './host/host_stepper.js'
export { HostTensor } from './host/host_tensor.js'
export { addProduct, type MatrixView, matrix, transposed } from './host/matrix_product.js'
export { pinBuffer } from './host/pin_buffer.js'
export { addColumnSums, addRow, copyRow, fillRows } from './host/rows.js'
export { sigmoid } from './host/sigmoid.js'
export { eachProduct, HOST_TENSOR_KERNELS, type TensorKernels, tensorRow } from './host/tensor_rows.js'

// Executors over the kernels of native/cpu

export { openKernelBackend } from './kernels/kernel_backend.js'
export {
  CallNumbers,
  INFEASIBLE_ROWS,
  KERNEL_OPERATIONS,
  type KernelJob,
  type KernelNetwork,
  type KernelOperations,
  type KernelQuantizedWeights,
  type KernelStepper,
  type KernelTapeMemory,
  type LstmJob,
  type RegionMove,
} from './kernels/kernel_boundary.js'
export type { KernelExecutor } from './kernels/kernel_executor.js'
export type { HostLstmNorms, HostLstmOperands, LstmGateActivation } from './kernels/kernel_lstm.js'
export { layoutOf, SMALL_PRODUCT } from './kernels/kernel_products.js'
export type { KernelRnn } from './kernels/kernel_rnn.js'
export { networkNumbers } from './kernels/network_numbers.js'
export { MATRIX_FORMATS, type MatrixFormat, WEIGHT_FORMATS, type WeightFormat } from './kernels/weight_format.js'

// Native addons

export { type LoadedAddon, loadNativeAddon } from './load_native_addon.js'

// Errors and descriptions

export { backendSummary, rnnSummary, tensorSummary } from './memory/summaries.js'
