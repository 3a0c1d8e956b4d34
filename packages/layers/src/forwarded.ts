import type { BackendTensor } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'

export interface LayerGradients {
  /** Undefined for class ids, which have none. */
  readonly input: BackendTensor | undefined
  /** In the order of the layer's variables. */
  readonly variables: readonly BackendTensor[]
}

/** The result of a layer's own forward. */
export interface Forwarded {
  readonly output: BackendTensor
  /** Lengths of the output's rows if the layer finds padding itself; otherwise those of the pass go on. */
  readonly lengths?: Tensor<Int32Array>
  /** The layer's own gradients. Called at most once, in training. */
  readonly backward: (outputGradient: BackendTensor) => LayerGradients | Promise<LayerGradients>
  /** Disposes the other tensors of the pass: not the output and the states. */
  readonly release?: (() => void) | undefined
  /** Where the pass keeps states. */
  readonly states?: readonly BackendTensor[] | undefined
}
