/**
 * What the validation on real GPUs (apps/gpu_validation) uses below the executor. Only the workspace's manifest lists this
 * entry point: a published package does not have it.
 */
export { openCudaLibraries } from './cuda_libraries.js'
export { ALGORITHMS, type Algorithm, BIAS_MODE_NUMBERS, CELL_MODE_NUMBERS, FORWARD_MODE } from './cudnn_enums.js'
export { DeviceBuffer } from './device_buffer.js'
export { DeviceSession } from './device_session.js'
export { inspectCudnn } from './inspect_cudnn.js'
export { loadAddon } from './load_addon.js'
export type {
  Buffer,
  DataDescriptor,
  DropoutDescriptor,
  Graph,
  RnnDescriptorHandle,
  TensorDescriptor,
} from './native_addon.js'
export { makeRnnDescriptor } from './network_descriptors.js'
export { type Arithmetic, arithmeticOf } from './precision.js'
