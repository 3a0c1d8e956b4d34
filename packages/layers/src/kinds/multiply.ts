import { invalidOption } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from '../layer.js'
import type { LayerOptions } from '../layer_options.js'
import { type Branch, branching } from './branch_layer.js'

/**
 * Gives its input to two branches, each a layer or a list of layers, and multiplies their outputs element by element. An empty
 * list is the input itself, of which the other branch is then a mask or a gate.
 *
 *     multiply([[], [cudnnLSTM({ numUnits: 128 }), dense({ units: 257, activation: 'sigmoid' })]])   // [T,B,257] to [T,B,257]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; RangeError `ERR_INVALID_OPTION`; when the model is built
 *   RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { cudnnLSTM, dense, multiply, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const gate = [cudnnLSTM({ numUnits: 4 }), dense({ units: 3, activation: 'sigmoid' })]
 * const model = sequential(backend, [multiply([[], gate])], { inputSize: 3, seed: 1 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] }) // [T,B,I]
 * console.log(shape) // [5, 2, 3]
 * ```
 */
export function multiply(branches: readonly [Branch, Branch], options: LayerOptions = {}): LayerDefinition {
  const definition = branching('multiply', branches, options)
  if (branches.length === 2) return definition
  throw invalidOption('make multiply', 'branches', 'a list of two', branches)
}
