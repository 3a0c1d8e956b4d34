import type { Backend } from '@cudnn-rnn/backend'
import { CelllessModel } from './cellless_model.js'
import type { DescriptorOptions, ModelOptions } from './model_options.js'

/**
 * `tf.contrib.cudnn_rnn.CudnnGRU`: L layers of GRU, linear before reset, over one opaque parameter buffer.
 *
 *     r,u = σ(W·x + b_W + R·h + b_R)   n = tanh(W_n·x + b_Wn + r∘(R_n·h + b_Rn))   h' = (1-u)∘n + u∘h
 *
 * TensorFlow's `GRUCell` resets before the product and is another function. Equations: NVIDIA's cuDNN.
 */
export class CudnnGRU extends CelllessModel<'gru'> {
  constructor(backend: Backend, options: ModelOptions & DescriptorOptions) {
    super(backend, 'gru', options)
  }
}
