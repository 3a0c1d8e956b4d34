import type { Backend } from '@cudnn-rnn/ops'
import { CelllessModel } from './cellless_model.js'
import type { ModelOptions } from './model_options.js'

/**
 * `tf.contrib.cudnn_rnn.CudnnRNNTanh`: h' = tanh(W·x + b_W + R·h + b_R), L layers over one opaque buffer.
 *
 * @example
 * ```ts
 * import { CudnnRNNTanh, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNTanh(backend, { numLayers: 1, numUnits: 8, inputSize: 4 })
 * const params = rnn.createParams({ kernelInitializer: 'orthogonal' })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output, state } = await rnn.run(params, input)
 * console.log(output.shape, state.h.shape) // [5, 3, 8] [1, 3, 8]
 * ```
 */
export class CudnnRNNTanh extends CelllessModel<'rnn_tanh'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'rnn_tanh', options)
  }
}
