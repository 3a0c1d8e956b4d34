import type { Backend } from '@cudnn-rnn/backend'
import { CelllessModel } from './cellless_model.js'
import type { DescriptorOptions, ModelOptions } from './model_options.js'

/** `tf.contrib.cudnn_rnn.CudnnRNNTanh`: h' = tanh(W·x + b_W + R·h + b_R), L layers over one opaque buffer. */
export class CudnnRNNTanh extends CelllessModel<'rnn_tanh'> {
  constructor(backend: Backend, options: ModelOptions & DescriptorOptions) {
    super(backend, 'rnn_tanh', options)
  }
}
