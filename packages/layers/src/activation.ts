import { ACTIVATIONS, type ActivationName, type BackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type LayerInfo } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import { ANY_FLOATS, checkInputRule, checkLayerOptions, invalidOption, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'

/**
 * An activation by itself: [...,E] to [...,E].
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 */
export function activation(name: ActivationName, options: LayerOptions = {}): LayerDefinition {
  if (!ACTIVATIONS.includes(name)) {
    throw invalidOption('activation', 'activation', `one of ${ACTIVATIONS.join(', ')}`, name)
  }
  checkLayerOptions('activation', options, [])
  const definition: LayerDefinition = {
    kind: 'activation',
    name: options.name,
    isStepwise: true,
    config: { activation: name },
    build(input, build) {
      checkInputRule(definition, input, ANY_FLOATS)
      const own = build.nameOf(options.name, 'activation')
      return new ActivationLayer(build, { definition, name: own, input, output: input }, name)
    },
  }
  return definition
}

class ActivationLayer extends Layer {
  readonly #activation: ActivationName

  constructor({ backend }: LayerBuild, info: LayerInfo, activation: ActivationName) {
    super(backend, info)
    this.#activation = activation
  }

  async forward(input: TensorLike): Promise<Forwarded> {
    const { ops } = this.backend
    const output = ops.activate(input, this.#activation)
    const backward = (dy: BackendTensor) => ({
      input: ops.activationGradient(output, dy, this.#activation),
      variables: [],
    })
    return { output, backward }
  }

  override openStream(): LayerStream {
    return statelessStream(async (input) => this.backend.ops.activate(input, this.#activation))
  }
}
