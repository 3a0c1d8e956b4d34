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

export { importKeras } from './import_keras.js'
export { type LoadModelOptions, loadModel } from './load_model.js'
export type { NamedInputs } from './model_inputs.js'
export {
  type ApplyOptions,
  apply,
  type InputOptions,
  input,
  type MergeOptions,
  merge,
  type ModelValue,
} from './model_values.js'
export {
  type FunctionalOptions,
  functional,
  type PredictedRows,
  type SequentialModel,
  type SequentialOptions,
  sequential,
} from './sequential_model.js'
export { type Signal, signalText } from './signal.js'

// Data, training, use

export type { LayerBatch, LayerData, LayerExample, NamedBatch, NamedExample } from './batches.js'
export type { DecodeOptions } from './decode_labels.js'
export type { EvaluateOptions, ModelMetrics } from './evaluate_model.js'
export type { ModelFitOptions } from './fit_model.js'
export { type CtcLoss, LOSSES, type Loss, type LossName, type LossResult, lossOf, type RowLossName } from './losses.js'
export type { ModelStream, ModelStreamOptions } from './model_stream.js'
export type { PredictOptions } from './predict_model.js'
export { TrainingCheckpoints, type TrainingCheckpointsOptions } from './training_checkpoints.js'

// Layers

export { type ActivationLayerOptions, activation } from './activation.js'
export { add } from './add.js'
export { type AttentionPoolingOptions, attentionPooling } from './attention_pooling.js'
export type { Branch } from './branch_layer.js'
export { type RnnLayerOptions, rnn } from './cell_layer.js'
export { concat } from './concat.js'
export { type Conv1DOptions, type Conv2DOptions, conv1d, conv2d } from './convolution.js'
export { type DenseOptions, dense } from './dense.js'
export { type DropoutLayerOptions, dropout } from './dropout.js'
export { type EmbeddingOptions, embedding } from './embedding.js'
export { type LayerNormLayerOptions, layerNorm } from './layer_norm.js'
export type { LayerOptions } from './layer_options.js'
export { integer, type NumberLimits, number } from './layer_rules.js'
export { type LayerKind, type LayerWeights, layerWeights } from './layer_weights.js'
export { type MaxPool1DOptions, type MaxPool2DOptions, maxPool1d, maxPool2d } from './max_pooling.js'
export { multiHeadAttention } from './multi_head_attention.js'
export { multiply } from './multiply.js'
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
} from './recurrent.js'
export { reverse } from './reverse.js'
export type { SaveModelOptions } from './save_model.js'
export { type LastStepOptions, lastStep, maxOverTime, meanOverTime } from './sequence_pooling.js'
export { timeDistributed } from './time_distributed.js'
export type { ModelForwarded } from './whole_model.js'
export type { Padding } from './windows.js'

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
export { transpose } from './transpose.js'

// Errors

export type { LayersErrorCode } from './error_codes.js'
