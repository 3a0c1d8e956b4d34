import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'

/**
 * Optimizer slots, stored beside the variables. These tensors have the shapes of weights, and often their
 * names, but are not weights.
 */

/** Slots of TensorFlow's optimizers, and of this project's, as `<variable>/<slot>`. A second slot is `<slot>_1`. */
const SLOT =
  /^(?:Adam|AdamW|AdaMax|AMSGrad|Nadam|LazyAdam|Momentum|RMSProp|Adagrad|AdagradDA|Adadelta|Ftrl|ProximalAdagrad|LARSOptimizer)(?:_\d+)?$/
/** An average of a variable is another value of it. */
const AVERAGES = new Set(['ExponentialMovingAverage', 'MovingAverage'])
const POWER = /(?:^|\/)beta[12]_power(?:_\d+)?$/

/** Object-based checkpoints of TensorFlow 2 name a slot as such, and an optimizer's own variables below it. */
const OBJECT_SLOT = /\/\.OPTIMIZER_SLOT\/|^(?:.*\/)?optimizer\/.*\/\.ATTRIBUTES\/VARIABLE_VALUE$/

/** HDF5 of Keras: 2 and 3's legacy files, then `.weights.h5` and `.keras`. */
const KERAS = /^optimizer_weights\/|^optimizer\/(?:.*\/)?vars\/\d+$/

/** `state.<parameter>.<slot>` in the result of `torch.optim.Optimizer.state_dict()`. */
const TORCH =
  /(?:^|\.)state\..+\.(?:step|exp_avg|exp_avg_sq|max_exp_avg_sq|momentum_buffer|square_avg|grad_avg|sum|acc_delta|exp_inf|mu|mu_product|eta|ax|prev|step_size)$/
/** Moments and gradients that a trainer stores as trees in the form of the model, and gradients beside each weight. */
const TREE = /(?:^|[/.])(?:exp_avg|exp_avg_sq|max_exp_avg_sq|momentum_buffer|grads|gradients)[/.]|\.grad$/

/** States of optimizers: Optax's in a training state of Flax, Flax's own before it, and those under a trainer's name. */
const STATE = /(?:^|[/.])(?:opt_state|param_states|optim(?:izer)?_states?(?:_dict)?)[/.]/

const ANY_FORMAT = [TORCH, TREE, STATE, POWER, OBJECT_SLOT]

export function optimizerSlots({ format, tensors }: Pick<WeightFile, 'format' | 'tensors'>): ReadonlySet<StoredTensor> {
  const isKeras = format.startsWith('keras')
  const shapes = new Map(tensors.map(({ name, shape }) => [name, String(shape)]))
  return new Set(
    tensors.filter(({ name, shape }) => {
      if (isKeras) return KERAS.test(name)
      if (ANY_FORMAT.some((slot) => slot.test(name))) return true
      return name.includes('/') && isSlotOfVariable(name.split('/'), String(shape), shapes)
    }),
  )
}

/** `lstm/Adam/layer_0/forward/weight_0`, `train/rnn/lstm_cell/kernel/Adam_1`: the last may be called anything. */
function isSlotOfVariable(segments: readonly string[], shape: string, shapes: ReadonlyMap<string, string>): boolean {
  if (segments.some((segment, index) => index > 0 && SLOT.test(segment))) return true
  if (AVERAGES.has(segments.at(-1) ?? '')) return false
  // The optimizer's scopes are before the variable's.
  return segments.slice(0, -2).some((_, scopes) => shapes.get(segments.slice(scopes, -1).join('/')) === shape)
}
