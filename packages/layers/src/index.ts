/**
 * Whole models around recurrent networks: layers with `call` and `gradients`, and `sequential`, which trains, evaluates,
 * predicts, streams, saves and loads them on any executor.
 *
 * @example
 * ```ts
 * import { cudnnLSTM, dense, embedding, lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const layers = [embedding({ size: 89, units: 8 }), cudnnLSTM({ numUnits: 16 }), lastStep(), dense({ units: 3 })]
 * const model = sequential(backend, layers, { seed: 1 })
 * console.log(model.summary())
 * ```
 * @packageDocumentation
 */

// Whole models

export { importKeras } from './keras/import_keras.js'
export { type LoadModelOptions, loadModel } from './model/load_model.js'
export type { NamedInputs } from './model/model_inputs.js'
export {
  type ApplyOptions,
  apply,
  type InputOptions,
  input,
  type MergeOptions,
  merge,
  type ModelValue,
} from './model/model_values.js'
export {
  type FunctionalOptions,
  functional,
  type PredictedRows,
  type LayersModel,
  type SequentialOptions,
  sequential,
} from './model/layers_model.js'
export { type Signal, signalText } from './signal.js'

// Data, training, use

export type { LayerBatch, LayerData, LayerExample, NamedBatch, NamedExample } from './training/batches.js'
export type { DecodeOptions } from './model/decode_labels.js'
export type { EvaluateOptions, ModelMetrics } from './training/evaluate_model.js'
export type { ModelFitOptions } from './training/fit_model.js'
export {
  type CtcLoss,
  LOSSES,
  type Loss,
  type LossName,
  type LossResult,
  lossOf,
  type RowLossName,
} from './training/losses.js'
export type { ModelStream, ModelStreamOptions } from './model/model_stream.js'
export type { PredictOptions } from './model/predict_model.js'
export { TrainingCheckpoints, type TrainingCheckpointsOptions } from './training/training_checkpoints.js'

// Layers

export { type ActivationLayerOptions, activation } from './kinds/activation.js'
export { add } from './kinds/add.js'
export { attention } from './kinds/attention.js'
export { type AttentionPoolingOptions, attentionPooling } from './kinds/attention_pooling.js'
export type { Branch } from './kinds/branch_layer.js'
export { type RnnLayerOptions, rnn } from './kinds/cell_layer.js'
export { concat } from './kinds/concat.js'
export { type Conv1DOptions, type Conv2DOptions, conv1d, conv2d } from './kinds/convolution.js'
export { type DenseOptions, dense } from './kinds/dense.js'
export { type DropoutLayerOptions, dropout } from './kinds/dropout.js'
export { type EmbeddingOptions, embedding } from './kinds/embedding.js'
export { type LayerNormLayerOptions, layerNorm } from './kinds/layer_norm.js'
export type { LayerOptions } from './layer_options.js'
export { integer, type NumberLimits, number } from './layer_rules.js'
export { type LayerKind, type LayerWeights, layerWeights } from './layer_weights.js'
export { type MaxPool1DOptions, type MaxPool2DOptions, maxPool1d, maxPool2d } from './kinds/max_pooling.js'
export { multiHeadAttention } from './kinds/multi_head_attention.js'
export { multiply } from './kinds/multiply.js'
export { layer } from './own_layer.js'
export type { FeatureSignal, LayerPlan } from './planned_layer.js'
export {
  type CudnnLSTMLayerOptions,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNRelu,
  cudnnRNNTanh,
  RecurrentLayer,
  type RecurrentLayerOptions,
  type RecurrentModel,
} from './kinds/recurrent.js'
export { reverse } from './kinds/reverse.js'
export type { SaveModelOptions } from './model/save_model.js'
export { type LastStepOptions, lastStep, maxOverTime, meanOverTime } from './kinds/sequence_pooling.js'
export { timeDistributed } from './kinds/time_distributed.js'
export type { ModelForwarded } from './model/whole_model.js'
export type { Padding } from './kinds/windows.js'

// Composing by hand

export { streamPoolOf } from '@cudnn-rnn/models'
export { scope } from '@cudnn-rnn/ops/executor'
export type { Forwarded, LayerGradients, LayerInput } from './forwarded.js'
export {
  type ConfigValue,
  Layer,
  type LayerCallOptions,
  type LayerCallResult,
  type LayerConfig,
  type LayerDefinition,
  type LayerInfo,
  type LayerRecordOptions,
  type LayerSizes,
  type Pass,
} from './layer.js'
export { LayerBuild, type LayerInitializer, type LayerInitializerFunction, type VariableSpec } from './layer_build.js'
export type { LayerStream } from './layer_stream.js'
export type { LayerTape } from './layer_tape.js'
export { transpose } from './kinds/transpose.js'

// Errors

export type { LayersErrorCode } from './error_codes.js'
