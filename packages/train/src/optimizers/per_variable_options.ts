import { checkedElsewhere, FUNCTION, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { TensorLike } from '@cudnn-rnn/ops'
import type { Trainable } from './trainable.js'

/** Rules of {@link PerVariableOptions}. */
export const PER_VARIABLE_OPTIONS = {
  /**
   * Decoupled weight decay (AdamW's): before each update, variable ← variable − learningRate·weightDecay·variable. A function
   * returns each variable's, by its name for example. Default 0.
   */
  // Its errors have the code ERR_HYPERPARAMETER.
  weightDecay: checkedElsewhere<number | ((variable: Trainable) => number) | undefined>(),
  /**
   * Which elements of a variable decay: null all (default), or a tensor of 0 and 1 in its shape, such as `weightDecayMask` makes
   * for opaque buffers. The optimizer does not dispose it.
   */
  decayMask: optional<(variable: Trainable) => TensorLike | null>(FUNCTION),
  /** The learning rate of each variable, as a multiple of the one that `apply` and `fit` have; 0 freezes it. Default 1. */
  rateFactor: optional<(variable: Trainable) => number>(FUNCTION),
}

/** Options of every optimizer by which variables may differ: PyTorch's parameter groups. */
export interface PerVariableOptions extends OptionsOf<typeof PER_VARIABLE_OPTIONS> {}
