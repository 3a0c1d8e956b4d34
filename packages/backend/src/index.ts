/**
 * The contract between recurrent models and the executors that compute them: memory, recurrent forward and backward, and
 * the dense operations of training. Types, element types, the optimizer rules and one error class.
 *
 * @example
 * ```ts no-run
 * import type { Backend } from '@cudnn-rnn/rnn'
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 *
 * export async function lastState(backend: Backend, params: Float32Array, x: Float32Array) {
 *   const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 8, inputSize: 4 }))
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
export type { Backend, BackendStats, DeviceGroups } from './backend.js'
export {
  type AnyBackendTensor,
  type BackendTensor,
  isBackendTensor,
  type NestedNumbers,
  type TensorLike,
} from './backend_tensor.js'
export {
  type BackendAttempt,
  BackendUnavailableError,
  isBackendUnavailableError,
} from './backend_unavailable_error.js'
export type { DenseOps } from './dense_ops.js'
export type { DeviceGroup } from './device_group.js'
export { DTYPES, type DType, type FloatDType } from './dtype.js'
export type { BackendErrorCode } from './error_codes.js'
export type { HostLstm } from './host_lstm.js'
export type { HostProducts } from './host_products.js'
export type { LayerOps } from './layer_ops.js'
export {
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
} from './optimizer_rules.js'
export type {
  Rnn,
  RnnForwardResult,
  RnnInputGradients,
  RnnQueuedStepper,
  RnnStepper,
  RnnStreamState,
  Tape,
} from './rnn.js'
export type { SharedMemory } from './shared_memory.js'
export type { TrainingSteps } from './training_steps.js'
