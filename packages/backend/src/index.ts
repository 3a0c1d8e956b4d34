/**
 * The contract between recurrent models and the executors that compute them: memory, recurrent forward and backward, and
 * the dense operations of training. Types, error classes, argument checks, and the parts that executors
 * are put together of.
 *
 * @example
 * ```ts no-run
 * import type { Backend } from '@cudnn-rnn/backend'
 * import { createRnnDescriptor } from '@cudnn-rnn/canonical'
 *
 * export async function lastState(backend: Backend, params: Float32Array, x: Float32Array) {
 *   using rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 8, inputSize: 4 }))
 *   const { outputH } = await rnn.forward({
 *     input: { data: x, shape: [x.length / 4, 1, 4] },
 *     inputH: null,
 *     inputC: null,
 *     params: { data: params, shape: [rnn.paramsSize] },
 *     sequenceLengths: null,
 *     training: false,
 *   })
 *   return outputH.read()
 * }
 * ```
 * @packageDocumentation
 */
export type { Backend, BackendStats } from './backend.js'
export {
  type BackendTensor,
  isBackendTensor,
  type TensorLike,
} from './backend_tensor.js'
export {
  type BackendAttempt,
  BackendUnavailableError,
  isBackendUnavailableError,
} from './backend_unavailable_error.js'
export { CheckedDenseOps } from './checked_dense_ops.js'
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
export type { DenseKernels, KernelOperands } from './dense_kernels.js'
export type {
  AdagradOptions,
  AdamOptions,
  DenseOps,
  LinearGradients,
  MomentumOptions,
  RmsPropOptions,
  RootOptions,
  SoftmaxCrossEntropyResult,
} from './dense_ops.js'
export { dropoutPositionOf, dropoutStateOf } from './dropout_position.js'
export { DTYPES, type DType, dtypeOf, type FloatDType } from './dtype.js'
export { checkOwnTensors, type ExecutorMemory, ownTensor, type VersionedTensor } from './executor_memory.js'
export { HostBackend, type HostExecutor } from './host/host_backend.js'
export { HostMemory, type OperationQueue } from './host/host_memory.js'
export { checkStream, checkStreamRows, HostStepper, type StreamKernel, type StreamOwner } from './host/host_stepper.js'
export { HostTensor, type HostTensorHome } from './host/host_tensor.js'
export { Ledger } from './ledger.js'
export { Lifetime } from './lifetime.js'
export { checkOwnTape, OpenTape } from './open_tape.js'
export { OperandVersions } from './operand_versions.js'
export { type Complete, completeAdagrad, completeAdam, completeMomentum, completeRmsProp } from './optimizer_options.js'
export type { OptimizerUpdate } from './optimizer_update.js'
export { type PassShapes, passShapes } from './pass_shapes.js'
export { Philox, philoxBlock } from './philox.js'
export type {
  Rnn,
  RnnForwardInputs,
  RnnForwardResult,
  RnnInputGradients,
  RnnOutputGradients,
  RnnStepper,
  RnnStreamState,
  Tape,
} from './rnn.js'
export {
  checkBackwardArguments,
  checkForwardArguments,
  checkParams,
  MAX_TIME_STEPS,
  type RnnPassSizes,
} from './rnn_arguments.js'
export { RnnTape, type RnnTapeRecord } from './rnn_tape.js'
export { checkSequenceLengths } from './sequence_lengths.js'
export {
  checkDimensions,
  checkHostTensor,
  checkIsHostTensor,
  checkIsTensor,
  checkShape,
  checkTensor,
  type TensorRule,
  tensorDType,
} from './tensor_arguments.js'
export type { TrainingSteps } from './training_steps.js'
