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
export { functional, type LayersModel, sequential } from './model/layers_model.js'
export { loadModel } from './model/load_model.js'
export { apply, input, type ModelValue, merge } from './model/model_values.js'
export { type Signal, signalText } from './signal.js'

// Data, training, use

export type { ModelStream } from './model/model_stream.js'
export type { LayerData } from './training/batches.js'
export type { LayerExample } from './training/joined_rows.js'
export type { LayerBatch } from './training/layer_batch.js'
export type { ModelFitOptions } from './training/fit_model.js'
export { LOSSES, type Loss, lossOf } from './training/losses.js'
export { TrainingCheckpoints } from './training/training_checkpoints.js'

// Layers

export { activation } from './kinds/activation.js'
export { attention, attentionPooling, multiHeadAttention } from './kinds/attention.js'
export { add, concat, multiply } from './kinds/branch_layer.js'
export { rnn } from './kinds/cell_layer.js'
export { conv1d, conv2d } from './kinds/convolution.js'
export { dense } from './kinds/dense.js'
export { dropout } from './kinds/dropout.js'
export { embedding } from './kinds/embedding.js'
export { layerNorm } from './kinds/layer_norm.js'
export { maxPool1d, maxPool2d } from './kinds/max_pooling.js'
export { cudnnGRU, cudnnLSTM, cudnnRNNRelu, cudnnRNNTanh, RecurrentLayer } from './kinds/recurrent.js'
export { repeatVector } from './kinds/repeat_vector.js'
export { reverse } from './kinds/reverse.js'
export { lastStep, maxOverTime, meanOverTime } from './kinds/sequence_pooling.js'
export { timeDistributed } from './kinds/time_distributed.js'
export { integer, number } from './layer_rules.js'
export { layerWeights } from './layer_weights.js'
export { layer } from './own_layer.js'
export type { LayerPlan } from './planned_layer.js'

// Composing by hand

export { streamPoolOf } from '@cudnn-rnn/models'
export { scope } from '@cudnn-rnn/ops/executor'
export type { Forwarded, LayerInput } from './forwarded.js'
export { transpose } from './kinds/transpose.js'
export { type ConfigValue, Layer, type LayerConfig, type LayerDefinition, type Pass } from './layer.js'
export { LayerBuild } from './layer_build.js'
export type { LayerStream } from './layer_stream.js'
export type { LayerTape } from './layer_tape.js'
