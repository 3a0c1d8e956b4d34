import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type Pass } from './layer.js'
import { checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from './layer_options.js'

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
  checkLayerOptions('reverse', options, LAYER_OPTIONS)
  const definition: LayerDefinition = {
    kind: 'reverse',
    name: options.name,
    config: {},
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const name = build.nameOf(options.name, 'reverse')
      const output = { isSequence: true, features: input.features }
      return new ReverseLayer(build.backend, { definition, name, input, output })
    },
  }
  return definition
}

class ReverseLayer extends Layer {
  async forward(input: TensorLike, { lengths }: Pass): Promise<Forwarded> {
    const { ops } = this.backend
    const backward = (dy: BackendTensor) => ({ input: ops.reverseSequence(dy, lengths), variables: [] })
    return { output: ops.reverseSequence(input, lengths), backward }
  }
}
