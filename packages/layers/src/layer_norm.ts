import { FINITE, type OptionsOf, optional, where } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type LayerInfo } from './layer.js'
import { INITIALIZER, type LayerBuild } from './layer_build.js'
import { ANY_FLOATS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'
import { featuresOf } from './signal.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Added to the variance. Default 1e-3, as in Keras (PyTorch: 1e-5). */
  epsilon: optional(where(FINITE, 'a finite number >= 0', (epsilon) => epsilon >= 0)),
  /** Default 1. */
  gammaInitializer: INITIALIZER,
  /** Default 0. */
  betaInitializer: INITIALIZER,
}

/** Options of {@link layerNorm}. */
export interface LayerNormLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * gamma·(x - mean)/√(variance + ε) + beta over the last dimension (Ba, Kiros & Hinton 2016). Variables: `gamma` [E], `beta` [E].
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { layerNorm, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [layerNorm({ epsilon: 1e-5 })], { inputSize: 2, isSequence: false })
 * const { data } = await model.predict({ data: Float32Array.of(1, 3), shape: [1, 2] }) // [B,E]
 * console.log([...data].map((x) => x.toFixed(3))) // ['-1.000', '1.000']
 * ```
 */
export function layerNorm(options: LayerNormLayerOptions = {}): LayerDefinition {
  checkLayerOptions('layerNorm', options, OPTIONS)
  const { epsilon = 1e-3, gammaInitializer = 1, betaInitializer = 0 } = options
  const definition: LayerDefinition = {
    kind: 'layerNorm',
    name: options.name,
    isStepwise: true,
    config: { epsilon },
    build(input, build) {
      checkInputRule(definition, input, ANY_FLOATS)
      const name = build.nameOf(options.name, 'layer_normalization')
      const shape = [featuresOf(input)]
      const variables = build.variables(name, [
        ['gamma', shape, gammaInitializer],
        ['beta', shape, betaInitializer],
      ])
      return new LayerNormLayer(build, { definition, name, input, output: input, variables }, epsilon)
    },
  }
  return definition
}

class LayerNormLayer extends Layer {
  readonly #options: { readonly epsilon: number }

  constructor({ backend }: LayerBuild, info: LayerInfo, epsilon: number) {
    super(backend, info)
    this.#options = { epsilon }
  }

  async forward(input: TensorLike): Promise<Forwarded> {
    const backward = (dy: BackendTensor) => {
      const gradients = this.backend.ops.layerNormGradients(input, this.variables[0].value, dy, this.#options)
      return { input: gradients.input, variables: [gradients.gamma, gradients.beta] }
    }
    return { output: this.#apply(input), backward }
  }

  override openStream(): LayerStream {
    return statelessStream(async (input) => this.#apply(input))
  }

  #apply(input: TensorLike): BackendTensor {
    const [gamma, beta] = this.variables
    return this.backend.ops.layerNorm(input, gamma.value, beta.value, this.#options)
  }
}
