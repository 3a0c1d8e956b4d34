import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { Forwarded, LayerInput } from '../forwarded.js'
import type { Layer, LayerCallOptions, LayerCallResult, LayerRecordOptions } from '../layer.js'
import type { Loss } from '../training/losses.js'
import type { ModelGraph } from './model_graph.js'
import type { NamedInputs } from './model_inputs.js'

/** The values of a pass of a model. */
export type ModelForwarded<Outputs extends string = string> = Forwarded & {
  readonly outputs: Readonly<Record<Outputs, Value>>
}

/** A model as training, evaluation, saving and the rest see it. */
export interface WholeModel extends Layer {
  readonly graph: ModelGraph
  readonly layers: readonly Layer[]
  readonly executor: Backend
  readonly seed: number
  /** The loss it was trained with. */
  loss: Loss | undefined
  call(input: TensorLike | NamedInputs, options?: LayerCallOptions): Promise<LayerCallResult>
  record(t: GradientTape, input: LayerInput | NamedInputs, options?: LayerRecordOptions): Promise<ModelForwarded>
}
