import type { Backend } from '@cudnn-rnn/ops'
import { CelllessModel } from './cellless_model.js'
import type { ModelOptions } from './model_options.js'

/**
 * `tf.contrib.cudnn_rnn.CudnnRNNRelu`: h' = max(0, W·x + b_W + R·h + b_R), L layers over one opaque buffer.
 *
 * @example
 * ```ts
 * import { CudnnRNNRelu, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNRelu(backend, { numLayers: 2, numUnits: 8, inputSize: 4 })
 * const params = rnn.createParams({ seed: 1 })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output } = await rnn.run(params, input)
 * console.log(output.shape, (await output.data()).every((h) => h >= 0)) // [5, 3, 8] true
 * ```
 */
export class CudnnRNNRelu extends CelllessModel<'rnn_relu'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'rnn_relu', options)
  }
}
