/**
 * TensorFlow 1's `tf.contrib.cudnn_rnn` for Node.js: models, executors and checkpoints in one import.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 16, inputSize: 8 })
 * const params = lstm.createParams({ seed: 1 })
 * const input = { data: new Float32Array(10 * 2 * 8).fill(0.5), shape: [10, 2, 8] }
 * const { output } = await lstm.call(input, null, null, params, { isTraining: false })
 * console.log((await output.read()).shape) // [10, 2, 16]
 * backend.dispose()
 * ```
 * @packageDocumentation
 */
// Executors

export {
  type AdamOptions,
  type Backend,
  type BackendStats,
  type BackendTensor,
  BackendUnavailableError,
  type DenseOps,
  type DType,
  type FloatDType,
  isBackendUnavailableError,
  type MomentumOptions,
  Philox,
  type RnnStreamState,
  type Tape,
  type TensorLike,
} from '@cudnn-rnn/backend'
// Layout
export {
  type CanonicalParams,
  CELL_MODES,
  type CellMode,
  createRnnDescriptor,
  flatLayout,
  hasErrorCode,
  type ParamLayout,
  type ParamRegion,
  type PlacedRegion,
  paramRegions,
  type RnnDescriptor,
  type RnnOptions,
  type Tensor,
} from '@cudnn-rnn/canonical'
// Checkpoint files
export {
  CheckpointError,
  type CheckpointReader,
  isCheckpointError,
  latestCheckpoint,
  openCheckpoint,
  readCheckpointState,
  writeCheckpoint,
} from '@cudnn-rnn/checkpoint'
// Models
export {
  type CallOptions,
  type CallResult,
  type CreateParamsOptions,
  CudnnGRU,
  CudnnLSTM,
  CudnnRNNRelu,
  CudnnRNNTanh,
  type Initializer,
  type InitializerFunction,
  type InputGradients,
  type LSTMCallResult,
  type LSTMInputGradients,
  type LSTMOptions,
  type LSTMOutputGradients,
  type ModelCanonicalParams,
  type ModelOptions,
  type OutputGradients,
  type Params,
  type Stream,
  type StreamOptions,
  Variable,
} from '@cudnn-rnn/models'
export type {
  Activation,
  BasicLSTMCellOptions,
  BasicRNNCellOptions,
  BidirectionalGradients,
  BidirectionalOutputGradients,
  BidirectionalResult,
  CellInputGradients,
  CellOptions,
  CellOutputGradients,
  CellResult,
  CellState,
  CellStep,
  CellTape,
  CellVariables,
  DynamicRnnOptions,
  FloatTensor,
  FusedRNNCell,
  LSTMBlockOptions,
  LSTMCellOptions,
  LSTMStateTuple,
  SequenceInput,
  SequenceInputGradients,
  SequenceOptions,
  SequenceOutputGradients,
  SequencePass,
  SequenceResult,
  SequenceRunner,
  StackBidirectionalOptions,
  StateSize,
  StateTree,
  TapeWhen,
  VariableMap,
  VariableSpec,
} from '@cudnn-rnn/reference'
// TensorFlow's cells
export {
  BasicLSTMCell,
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  FusedRNNCellAdaptor,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMBlockFusedCell,
  LSTMCell,
  MultiRNNCell,
  RNNCell,
  stackBidirectionalDynamicRnn,
  staticRnn,
  TimeReversedFusedRNN,
} from '@cudnn-rnn/reference'
// Saving
export {
  type ConvertedNetwork,
  type ConvertOptions,
  CudnnGRUSaveable,
  CudnnLSTMSaveable,
  CudnnParamsFormatConverterGRU,
  CudnnParamsFormatConverterLSTM,
  CudnnParamsFormatConverterRelu,
  CudnnParamsFormatConverterTanh,
  CudnnRNNReluSaveable,
  CudnnRNNTanhSaveable,
  convertCheckpoint,
  type HostTensor,
  isRestoreError,
  type NamedShape,
  type Naming,
  type ParamsForm,
  type RecognisedNetwork,
  RestoreError,
  RNNParamsSaveable,
  recogniseNetworks,
  type Saveable,
  Saver,
  type SaverOptions,
  type TensorMismatch,
  TensorSaveable,
} from '@cudnn-rnn/saveable'
export type { OpenBackendOptions } from './executor_table.js'
export { type BackendReport, inspectBackends, openBackend } from './open_backend.js'
