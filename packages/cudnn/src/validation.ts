/**
 * The parts below the executor that the validation on real GPUs (apps/gpu_validation) uses. Only the workspace's
 * manifest lists this entry point: a published package does not have it.
 */

export type { CommandList } from './device/command_list.js'
export type { DeviceBuffer } from './device/device_buffer.js'
export { DeviceSession } from './device/device_session.js'
export { type Arithmetic, arithmeticOf } from './device/precision.js'
export { inspectCudnn } from './inspect_cudnn.js'
export { loadAddon } from './load_addon.js'
export { setRnnDescriptor } from './rnn/network_descriptors.js'
export { persistentMacros, persistentShapes, stepMicroseconds } from './rnn/persistent_shape.js'
export { MODE } from './sys/commands.js'
export { openCudaLibraries } from './sys/cuda_libraries.js'
export { ALGORITHMS, type Algorithm, BIAS_MODE_NUMBERS, CELL_MODE_NUMBERS, FORWARD_MODE } from './sys/cudnn_enums.js'
export type {
  DataDescriptor,
  DropoutDescriptor,
  Graph,
  ObjectId,
  RnnDescriptorId,
  TensorDescriptor,
} from './sys/native_addon.js'
