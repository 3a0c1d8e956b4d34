/**
 * Training on any executor: losses and a gradient check, optimizers and schedules, resumable data pipelines, a loop that
 * resumes exactly, decoding, and logs for TensorBoard.
 *
 * It depends neither on the executor nor on the file format of checkpoints: backends and savers are passed in.
 *
 * @example
 * ```ts
 * import { Adam, constantRate, Dataset, fit, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const slope = { name: 'slope', backend, value: backend.zeros([1]) }
 * const result = await fit({
 *   data: Dataset.fromArray([1, 2, 3, 4]).shuffle({ bufferSize: 4, seed: 1 }).repeat().batch(2),
 *   async batchGradients(xs) {
 *     const a = (await slope.value.data())[0] ?? 0
 *     const errors = xs.map((x) => a * x - 3 * x)
 *     const gradient = errors.reduce((sum, error, k) => sum + error * (xs[k] ?? 0), 0) / xs.length
 *     const loss = errors.reduce((sum, error) => sum + error * error, 0) / (2 * xs.length)
 *     return { loss, gradients: [backend.tensor({ data: Float32Array.of(gradient), shape: [1] })] }
 *   },
 *   optimizer: new Adam([slope]),
 *   learningRate: constantRate(0.1),
 *   maxSteps: 300,
 * })
 * console.log(result.ending) // finished
 * console.log((await slope.value.data())[0]?.toFixed(2)) // 3.00
 * ```
 * @packageDocumentation
 */

export {
  type Cell,
  type CellState,
  full,
  type GradientTape,
  grad,
  infer,
  type Operand,
  scan,
  type TapeVariable,
  tensor,
  type Value,
  type Variables,
  valueAndGrad,
  zeros,
} from '@cudnn-rnn/ops/executor'
export { arrowDataset } from './data/arrow_source.js'
export { type CsvRow, csvDataset } from './data/csv_source.js'
export { DataError } from './data/data_error.js'
export { Dataset, DatasetIterator } from './data/dataset.js'
export { jsonLinesDataset, textDataset } from './data/line_sources.js'
export { padSequences } from './data/pad_sequences.js'
export { parquetDataset } from './data/parquet_source.js'
export { isEmptyShare, type World } from './data/shard_stage.js'
export type { Cursor, Item, Position, Source } from './data/source.js'
export { classId, finiteNumber } from './data/table_row.js'
export { type TokenWindow, truncatedWindows } from './data/truncated_windows.js'
export { Vocabulary } from './data/vocabulary.js'
export { beamSearch } from './decoding/beam_search.js'
export { gatherStateRows } from './decoding/gather_state_rows.js'
export { generate } from './decoding/generate.js'
export { sampleToken } from './decoding/sample_token.js'
export { EventFile } from './logs/event_file.js'
export { type GateWeights, gateWeights } from './logs/gate_weights.js'
export { histogramOf } from './logs/histogram.js'
export { MetricsFile, metricsLine, readMetrics } from './logs/metrics_file.js'
export type { AllReduceOptions, Communicator, ReduceOperation, ReducibleArray, TensorSum } from './loop/communicator.js'
export type { EarlyStoppingOptions } from './loop/early_stopping.js'
export { fit } from './loop/fit.js'
export type { FitOptions, ResumedTraining, StepReport } from './loop/fit_options.js'
export { gatherResults } from './loop/gather_results.js'
export type { BatchResult } from './loop/gradient_accumulator.js'
export { makeParallel, type Parallel, type ParallelOptions } from './loop/make_parallel.js'
export { NonFiniteError } from './loop/non_finite_error.js'
export type { FitResult } from './loop/training_loop.js'
export type { RankSeconds } from './loop/training_ranks.js'
export type { RestoredRecord, SkippedCheckpoint, TrainingRecord, TrainingSaver } from './loop/training_saver.js'
export { weightedMeans } from './loop/weighted_means.js'
export { crossEntropy, sparseCrossEntropy } from './losses/cross_entropy.js'
export { entropyFromLogits, entropyGradient } from './losses/entropy.js'
export { gaussianKl } from './losses/gaussian_kl.js'
export { checkGradients } from './losses/gradient_check.js'
export { meanSquaredError } from './losses/mean_squared_error.js'
export { logSoftmax, logSumExp, softmax, softmaxGradient } from './losses/softmax.js'
export { Adagrad } from './optimizers/adagrad.js'
export { Adam } from './optimizers/adam.js'
export { constantRate, cosineRate, exponentialRate, piecewiseRate, type Schedule } from './optimizers/learning_rate.js'
export { type MakeOptimizer, OPTIMIZERS, type OptimizerName } from './optimizers/named_optimizer.js'
export { Optimizer } from './optimizers/optimizer.js'
export { RmsProp } from './optimizers/rms_prop.js'
export { Sgd } from './optimizers/sgd.js'
export type { Trainable } from './optimizers/trainable.js'
export { weightDecayMask } from './optimizers/weight_decay_mask.js'
