export type { BucketOptions } from './data/bucket_stage.js'
export { type CsvRow, csvDataset, finiteNumber } from './data/csv_source.js'
export { DataError, isDataError } from './data/data_error.js'
export { Dataset, DatasetIterator } from './data/dataset.js'
export { jsonLinesDataset, textDataset } from './data/line_sources.js'
export { type PaddedSequences, padSequences } from './data/pad_sequences.js'
export type { Cursor, Item, Position, Source } from './data/source.js'
export { type TokenWindow, truncatedWindows } from './data/truncated_windows.js'
export { type BeamHypothesis, type BeamSearchOptions, beamSearch } from './decoding/beam_search.js'
export { type GenerateOptions, generate } from './decoding/generate.js'
export { type SamplingOptions, sampleToken } from './decoding/sample_token.js'
export { EventFile } from './logs/event_file.js'
export { metricsLine } from './logs/metrics_line.js'
export type { EarlyStoppingOptions } from './loop/early_stopping.js'
export { type FitOptions, type FitResult, fit, type StepReport } from './loop/fit.js'
export type { BatchResult } from './loop/gradient_accumulator.js'
export { NonFiniteError } from './loop/non_finite_error.js'
export type { TrainingRecord, TrainingSaver } from './loop/training_saver.js'
export type { FloatTensor } from './losses/axis_lines.js'
export {
  type CrossEntropyOptions,
  type CrossEntropyResult,
  crossEntropy,
  sparseCrossEntropy,
} from './losses/cross_entropy.js'
export { entropyFromLogits, entropyGradient } from './losses/entropy.js'
export { type DiagonalGaussian, type GaussianKlResult, gaussianKl } from './losses/gaussian_kl.js'
export {
  checkGradients,
  type GradientCheckOptions,
  type GradientCheckResult,
  type GradientMismatch,
} from './losses/gradient_check.js'
export { type MeanSquaredErrorResult, meanSquaredError } from './losses/mean_squared_error.js'
export { logSoftmax, logSumExp, softmax, softmaxGradient } from './losses/softmax.js'
export { Adagrad, type AdagradOptimizerOptions } from './optimizers/adagrad.js'
export { Adam, type AdamOptimizerOptions } from './optimizers/adam.js'
export {
  type CosineOptions,
  constantRate,
  cosineRate,
  type ExponentialOptions,
  exponentialRate,
  piecewiseRate,
  type Schedule,
} from './optimizers/learning_rate.js'
export { type Definition, Optimizer, type WeightDecayOptions } from './optimizers/optimizer.js'
export { RmsProp, type RmsPropOptimizerOptions } from './optimizers/rms_prop.js'
export { Sgd, type SgdOptions } from './optimizers/sgd.js'
export type { Trainable } from './optimizers/trainable.js'
export { type CanonicalMap, weightDecayMask } from './optimizers/weight_decay_mask.js'
