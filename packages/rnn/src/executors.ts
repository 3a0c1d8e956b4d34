/**
 * The contract of executors, and each executor's own functions and errors. `openBackend` of the root chooses one.
 * @packageDocumentation
 */

export {
  type CpuBackend,
  type CpuBackendOptions,
  INSTRUCTION_SETS,
  type InstructionSet,
  openCpuBackend,
  type WeightFormat,
} from '@cudnn-rnn/cpu'
export {
  type CudnnBackend,
  type CudnnBackendOptions,
  CudnnError,
  type CudnnReport,
  inspectCudnn,
  openCudnnBackend,
  type Precision,
} from '@cudnn-rnn/cudnn'
export * from '@cudnn-rnn/ops'
export { Philox } from '@cudnn-rnn/ops/executor'
export { openReferenceBackend, type ReferenceBackend, type ReferenceBackendOptions } from '@cudnn-rnn/reference'
export {
  openWasmBackend,
  WASM_INSTRUCTION_SETS,
  type WasmBackend,
  type WasmBackendOptions,
  type WasmInstructionSet,
} from '@cudnn-rnn/wasm'
