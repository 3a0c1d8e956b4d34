/**
 * TensorFlow 1's `tf.contrib.cudnn_rnn` for Node.js: models, executors, checkpoints and training in one import.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 16, inputSize: 8 })
 * const params = lstm.createParams({ seed: 1 })
 * const input = { data: new Float32Array(10 * 2 * 8).fill(0.5), shape: [10, 2, 8] }
 * const { output } = await lstm.run(params, input)
 * console.log((await output.read()).shape) // [10, 2, 16]
 * backend.dispose()
 * ```
 * @packageDocumentation
 */

// Executors

export type { Backend, BackendTensor, RnnStreamState, Tape, TensorLike } from '@cudnn-rnn/ops'
export type { BackendName, OpenBackendOptions } from './executor_table.js'
export { type BackendReport, inspectBackends, openBackend } from './open_backend.js'

// Models

export {
  CudnnGRU,
  CudnnLSTM,
  CudnnRNNRelu,
  CudnnRNNTanh,
  type LSTMOptions,
  type ModelOptions,
  openWorkerPool,
  type Params,
  type RowNetwork,
  type SharedParams,
  type Stream,
  type StreamPool,
  serveStreams,
  Variable,
  type WorkerLoss,
  type WorkerPool,
  type WorkerStream,
} from '@cudnn-rnn/models'
export { loadNetwork } from './load_network.js'
export { type CellFromNetwork, type ModelFromNetwork, modelFromNetwork } from './model_from_network.js'
export { openModel } from './open_model.js'

// Whole models

export {
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  type LayerBatch,
  type LayerDefinition,
  type LayerExample,
  lastStep,
  layer,
  layerNorm,
  loadModel,
  type ModelFitOptions,
  type LayersModel,
  sequential,
  TrainingCheckpoints,
} from '@cudnn-rnn/layers'

// Training

export {
  Adam,
  constantRate,
  cosineRate,
  Dataset,
  type FitOptions,
  type FitResult,
  fit,
  type GradientTape,
  Sgd,
  type StepReport,
  tensor,
  type Value,
  valueAndGrad,
} from '@cudnn-rnn/train'

// Several processes

export { type Communicator, openCommunicator } from '@cudnn-rnn/distributed'

// Saving

export { type CheckpointReader, latestCheckpoint, openCheckpoint, writeCheckpoint } from '@cudnn-rnn/checkpoint'
export { RNNParamsSaveable, type Saveable, Saver } from '@cudnn-rnn/saveable'

// Weights of other frameworks

export {
  type ExportFormat,
  exportWeights,
  type ImportedCell,
  type ImportedNetwork,
  type ImportedWeights,
  type ImportOptions,
  importWeights,
} from '@cudnn-rnn/interop'

// Layout and errors

export {
  type CanonicalParams,
  type CellMode,
  type ErrorCode,
  hasErrorCode,
  type RnnDescriptor,
  type RnnOptions,
  type Tensor,
} from '@cudnn-rnn/canonical'
