import { type Branch, branching } from './branch_layer.js'
import type { LayerDefinition } from '../layer.js'
import type { LayerOptions } from '../layer_options.js'

/**
 * Gives its input to several branches, each a layer or a list of layers, and adds up their outputs, which have one shape. An
 * empty list is the input itself: a residual connection.
 *
 *     add([[], [cudnnLSTM({ numUnits: 64 }), dropout({ rate: 0.2 })]])   // x + f(x), [T,B,64] to [T,B,64]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; when the model is built RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { add, cudnnGRU, dropout, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const residual = add([[], [cudnnGRU({ numUnits: 3 }), dropout({ rate: 0.2 })]])
 * const model = sequential(backend, [residual], { inputSize: 3, seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 3]
 * ```
 */
export function add(branches: readonly Branch[], options: LayerOptions = {}): LayerDefinition {
  return branching('add', branches, options)
}
