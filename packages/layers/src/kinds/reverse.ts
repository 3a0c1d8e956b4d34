import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { lengthsOperand } from '../forwarded.js'
import { planned } from '../planned_layer.js'

/**
 * Turns each row's steps around: [T,B,E] to [T,B,E], zero past the row's length.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { reverse, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [reverse()], { inputSize: 1 })
 * const input = { data: Float32Array.of(1, 10, 2, 20, 3, 30), shape: [3, 2, 1] } // [T,B,E]
 * const { data } = await model.predict(input, { sequenceLengths: [3, 2] })
 * console.log(data) // [3, 20, 2, 10, 1, 0]
 * ```
 */
export function reverse(options: LayerOptions = {}): LayerDefinition {
  const given = checkLayerOptions('reverse', options, LAYER_OPTIONS)
  const row = { kind: 'reverse', base: 'reverse', name: given.name, takes: SEQUENCE, config: {} }
  return planned(row, ({ features }) => ({
    output: { isSequence: true, features },
    forward: (t, x, _, { lengths }) => t.reverseSequence(x, lengthsOperand(lengths)),
  }))
}
