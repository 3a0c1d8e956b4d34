/**
 * `tf.contrib.cudnn_rnn`'s models over any executor: one opaque parameter buffer, canonical conversion, training and
 * streaming. The models depend neither on the executor nor on the place where parameters are saved.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const stream = gru.stream(gru.createParams({ seed: 1 }))
 * for (let t = 0; t < 3; t++) console.log(stream.stepSync({ data: Float32Array.of(t, 1), shape: [1, 2] }).data)
 * ```
 * @packageDocumentation
 */

export { CudnnGRU, CudnnRNNRelu, CudnnRNNTanh } from './cellless_models.js'
export { CudnnLSTM } from './cudnn_lstm.js'
export type { InitializerOptions } from './initializers.js'
export type { LSTMOptions, ModelOptions } from './model_options.js'
export type { RecurrentModel } from './recurrent_model.js'
export type { SharedParams } from './shared_params.js'
export { streamPoolOf } from './streams/open_stream_pool.js'
export type { StreamPoolOptions } from './streams/pool_options.js'
export type { RowNetwork } from './streams/row_network.js'
export type { Stream } from './streams/stream.js'
export type { PooledStream, StreamPool, StreamPoolStats } from './streams/stream_pool.js'
export { type ServedPool, type ServingPort, serveStreams } from './threads/serve_streams.js'
export type { WorkerStream, WorkerThread } from './threads/stream_worker.js'
export { openWorkerPool, type WorkerLoss, type WorkerPool } from './threads/worker_pool.js'
export { type Params, Variable } from './variable.js'
