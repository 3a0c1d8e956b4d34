/**
 * The cuDNN executor: recurrent networks and their training on NVIDIA GPUs. NVIDIA's libraries are opened at run time;
 * without them opening fails with everything that was tried.
 *
 * @example
 * ```ts no-run
 * import { CudnnLSTM } from '@cudnn-rnn/rnn'
 * import { openCudnnBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = await openCudnnBackend()
 * const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 512, inputSize: 64 })
 * const params = lstm.createParams({ seed: 1 })
 * const { output } = await lstm.call({ data: new Float32Array(70 * 32 * 64), shape: [70, 32, 64] }, null, null, params)
 * console.log((await output.read()).shape) // [70, 32, 512]
 * backend.dispose()
 * ```
 * @packageDocumentation
 */
export type { CudnnBackend } from './cudnn_backend.js'
export type { CudnnTensor } from './device/cudnn_tensor.js'
export type { Precision } from './device/precision.js'
export { type CudnnReport, inspectCudnn } from './inspect_cudnn.js'
export { type Nccl, type NcclCommunicator, openNccl } from './nccl/open_nccl.js'
export type { StreamCalls } from './nccl/stream_calls.js'
export { type CudnnBackendOptions, openCudnnBackend } from './open_cudnn_backend.js'
export { CudnnError } from './sys/cudnn_error.js'
