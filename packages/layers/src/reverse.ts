import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type Pass } from './layer.js'
import { checkInputRule, checkLayerOptions, type LayerOptions, SEQUENCE } from './layer_options.js'

/** Turns each row's steps around: [T,B,E] to [T,B,E], zero past the row's length. */
export function reverse(options: LayerOptions = {}): LayerDefinition {
  checkLayerOptions('reverse', options, [])
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
