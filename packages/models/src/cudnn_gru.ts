import type { Backend } from '@cudnn-rnn/ops'
import { CelllessModel } from './cellless_model.js'
import type { ModelOptions } from './model_options.js'

/**
 * `tf.contrib.cudnn_rnn.CudnnGRU`: L layers of GRU, linear before reset, over one opaque parameter buffer.
 *
 *     r,u = σ(W·x + b_W + R·h + b_R)   n = tanh(W_n·x + b_Wn + r∘(R_n·h + b_Rn))   h' = (1-u)∘n + u∘h
 *
 * TensorFlow's `GRUCell` resets before the product and is another function. Equations: NVIDIA's cuDNN.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 8, inputSize: 4, direction: 'bidirectional' })
 * const params = gru.createParams({ seed: 1 })
 * const input = { data: new Float32Array(5 * 3 * 4).fill(1), shape: [5, 3, 4] } // [T,B,I]
 * const { output, outputH, tape } = await gru.call(input, null, params, { sequenceLengths: [5, 2, 4] })
 * const gradients = await gru.gradients(tape, { outputH })
 * console.log(output.shape, outputH.shape, gradients.input.shape) // [5, 3, 16] [2, 3, 8] [5, 3, 4]
 * ```
 */
export class CudnnGRU extends CelllessModel<'gru'> {
  constructor(backend: Backend, options: ModelOptions) {
    super(backend, 'gru', options)
  }
}
