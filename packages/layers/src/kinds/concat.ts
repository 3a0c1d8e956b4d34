import { type Branch, branching } from './branch_layer.js'
import type { LayerDefinition } from '../layer.js'
import type { LayerOptions } from '../layer_options.js'

/**
 * Gives its input to several branches, each a layer or a list of layers, and joins their outputs along the last dimension.
 * An empty list is the input itself: a skip connection.
 *
 *     concat([lastStep(), meanOverTime(), maxOverTime()])   // [T,B,E] to [B,3·E]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; when the model is built RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { concat, lastStep, maxOverTime, meanOverTime, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [concat([lastStep(), meanOverTime(), maxOverTime()])], { inputSize: 1 })
 * const { data } = await model.predict({ data: Float32Array.of(3, 1, 2), shape: [3, 1, 1] }) // [T,B,E]
 * console.log(data) // [2, 2, 3]
 * ```
 */
export function concat(branches: readonly Branch[], options: LayerOptions = {}): LayerDefinition {
  return branching('concat', branches, options)
}
