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
export type { Backend, BackendStats, DeviceGroups, SharedMemory } from './contract/backend.js'
export {
  type AnyBackendTensor,
  type BackendTensor,
  isBackendTensor,
  type NestedNumbers,
  type TensorLike,
} from './contract/backend_tensor.js'
export { type BackendAttempt, BackendUnavailableError } from './contract/backend_unavailable_error.js'
export type { DenseOps } from './contract/dense_ops.js'
export type { DeviceGroup } from './contract/device_group.js'
export { DTYPES, type DType, type FloatDType } from './contract/dtype.js'
export type { HostLstm } from './contract/host_lstm.js'
export type { HostProducts } from './contract/host_products.js'
export type { LayerOps } from './contract/layer_ops.js'
export {
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
} from './contract/optimizer_rules.js'
export type {
  Rnn,
  RnnForwardResult,
  RnnInputGradients,
  RnnQueuedStepper,
  RnnStepper,
  RnnStreamState,
  Tape,
} from './contract/rnn.js'
export type { TrainingSteps } from './contract/training_steps.js'
