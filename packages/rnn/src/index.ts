/**
 * Recurrent networks in JavaScript in one import: executors, whole models, training, files of Python's frameworks, and TensorFlow 1's
 * `tf.contrib.cudnn_rnn`.
 *
 * @example
 * ```ts
 * import { cudnnLSTM, dense, lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * const model = sequential(backend, [cudnnLSTM({ numUnits: 8, inputSize: 1 }), lastStep(), dense({ units: 1 })], { seed: 1 })
 * const sums = Array.from({ length: 64 }, (_, k) => ({ input: [[(k % 8) / 8], [(k % 5) / 5]], label: [(k % 8) / 8 + (k % 5) / 5] }))
 * await model.fit(sums, { loss: 'mean_squared_error', epochs: 60, learningRate: 0.02 })
 * const [sum] = await model.predict([[[0.5], [0.4]]])
 * console.log(sum.data[0]?.toFixed(1)) // 0.9
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
