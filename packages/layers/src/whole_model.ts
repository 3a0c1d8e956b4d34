import type { Backend } from '@cudnn-rnn/ops'
import type { Layer } from './layer.js'
import type { Loss } from './losses.js'

/** A model as training, evaluation, saving and the rest see it. */
export interface WholeModel extends Layer {
  readonly layers: readonly Layer[]
  readonly executor: Backend
  readonly seed: number
  /** The loss it was trained with. */
  loss: Loss | undefined
}
