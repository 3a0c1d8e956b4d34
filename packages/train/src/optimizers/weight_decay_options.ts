import { checkedElsewhere, FUNCTION, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { TensorLike } from '@cudnn-rnn/ops'
import type { Trainable } from './trainable.js'

/** Rules of {@link WeightDecayOptions}. */
export const WEIGHT_DECAY_OPTIONS = {
  /** Decoupled weight decay (AdamW's): before each update, variable ← variable − learningRate·weightDecay·variable. Default 0. */
  // Its errors have the code ERR_HYPERPARAMETER.
  weightDecay: checkedElsewhere<number | undefined>(),
  /**
   * Which elements of a variable decay: true all (default), false none, or a tensor of 0 and 1 in its shape, such as
   * `weightDecayMask` makes for opaque buffers. The optimizer does not dispose it.
   */
  decayMask: optional<(variable: Trainable) => TensorLike | boolean>(FUNCTION),
}

/** Options of every optimizer. */
export interface WeightDecayOptions extends OptionsOf<typeof WEIGHT_DECAY_OPTIONS> {}
