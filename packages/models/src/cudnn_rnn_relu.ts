import type { Backend } from '@cudnn-rnn/backend'
import { CelllessModel } from './cellless_model.js'
import type { DescriptorOptions, ModelOptions } from './model_options.js'

/** `tf.contrib.cudnn_rnn.CudnnRNNRelu`: h' = max(0, W·x + b_W + R·h + b_R), L layers over one opaque buffer. */
export class CudnnRNNRelu extends CelllessModel<'rnn_relu'> {
  constructor(backend: Backend, options: ModelOptions & DescriptorOptions) {
    super(backend, 'rnn_relu', options)
  }
}
