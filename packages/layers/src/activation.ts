import { checkedElsewhere, type OptionsOf } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { ACTIVATIONS, type ActivationName, type ActivationOptions } from '@cudnn-rnn/executor-kit'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type LayerInfo } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import {
  ANY_FLOATS,
  checkInputRule,
  checkLayerOptions,
  invalidOption,
  LAYER_OPTIONS,
  type LayerOptions,
} from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Of `relu`: min(max(x, 0), maximum), positive; its derivative there is 0. Default: none. */
  // Its values depend on the activation.
  maximum: checkedElsewhere<number | undefined>(),
}

/** Options of {@link activation}. */
export interface ActivationLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * An activation without weights: [...,E] to [...,E]. `activation('relu', { maximum: 6 })` is bounded.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { activation, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [activation('relu', { maximum: 6 })], { inputSize: 3, isSequence: false })
 * const { data } = await model.predict({ data: Float32Array.of(-1, 2, 9), shape: [1, 3] }) // [B,E]
 * console.log(data) // [0, 2, 6]
 * ```
 */
export function activation(name: ActivationName, options: ActivationLayerOptions = {}): LayerDefinition {
  if (!ACTIVATIONS.includes(name)) {
    throw invalidOption('activation', 'activation', `one of ${ACTIVATIONS.join(', ')}`, name)
  }
  checkLayerOptions('activation', options, OPTIONS)
  const { maximum } = options
  if (maximum !== undefined && !(name === 'relu' && typeof maximum === 'number' && maximum > 0)) {
    throw invalidOption('activation', 'maximum', name === 'relu' ? 'a number > 0' : `absent for ${name}`, maximum)
  }
  const definition: LayerDefinition = {
    kind: 'activation',
    name: options.name,
    isStepwise: true,
    config: { activation: name, ...(maximum !== undefined && { maximum }) },
    build(input, build) {
      checkInputRule(definition, input, ANY_FLOATS)
      const own = build.nameOf(options.name, 'activation')
      return new ActivationLayer(build, { definition, name: own, input, output: input }, name, { maximum })
    },
  }
  return definition
}

class ActivationLayer extends Layer {
  readonly #activation: ActivationName
  readonly #options: ActivationOptions

  constructor({ backend }: LayerBuild, info: LayerInfo, activation: ActivationName, options: ActivationOptions) {
    super(backend, info)
    this.#activation = activation
    this.#options = options
  }

  async forward(input: TensorLike): Promise<Forwarded> {
    const { ops } = this.backend
    const output = ops.activate(input, this.#activation, this.#options)
    const backward = (dy: BackendTensor) => ({
      input: ops.activationGradient(output, dy, this.#activation, this.#options),
      variables: [],
    })
    return { output, backward }
  }

  override openStream(): LayerStream {
    return statelessStream(async (input) => this.backend.ops.activate(input, this.#activation, this.#options))
  }
}
