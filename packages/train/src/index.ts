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
