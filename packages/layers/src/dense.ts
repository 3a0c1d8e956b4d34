import { integerFrom, type OptionsOf, oneOf, optional } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import { ACTIVATIONS, type ActivationName } from '@cudnn-rnn/executor-kit'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type LayerInfo } from './layer.js'
import { INITIALIZER, type LayerBuild } from './layer_build.js'
import { ANY_FLOATS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'
import { featuresOf } from './signal.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** O */
  units: integerFrom(1),
  /** Default `linear`: none. */
  activation: optional(oneOf(['linear', ...ACTIVATIONS])),
  /** Default `glorot_uniform`. */
  kernelInitializer: INITIALIZER,
  /** Default 0. */
  biasInitializer: INITIALIZER,
}

/** Options of {@link dense}. */
export interface DenseOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * f(x·kernel + bias) over the last dimension, at every step of a sequence: [...,I] to [...,O]. Variables: `kernel` [I,O],
 * `bias` [O]. The losses take logits: leave out a last `softmax` or `sigmoid` where you train with their cross-entropy.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { dense, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const layer = dense({ units: 2, activation: 'relu', kernelInitializer: 1, biasInitializer: -3 })
 * const model = sequential(backend, [layer], { inputSize: 3, isSequence: false })
 * const { data } = await model.predict({ data: Float32Array.of(1, 2, 3, 0, 1, 1), shape: [2, 3] }) // [B,I]
 * console.log(data) // [3, 3, 0, 0]
 * ```
 */
export function dense(options: DenseOptions): LayerDefinition {
  checkLayerOptions('dense', options, OPTIONS)
  const { units, activation = 'linear' } = options
  const definition: LayerDefinition = {
    kind: 'dense',
    name: options.name,
    isStepwise: true,
    config: { units, activation },
    build(input, build) {
      checkInputRule(definition, input, ANY_FLOATS)
      const name = build.nameOf(options.name, 'dense')
      const { kernelInitializer = 'glorot_uniform', biasInitializer = 0 } = options
      const variables = build.variables(name, [
        ['kernel', [featuresOf(input), units], kernelInitializer],
        ['bias', [units], biasInitializer],
      ])
      const output = { isSequence: input.isSequence, features: units }
      return new DenseLayer(build, { definition, name, input, output, variables }, activation)
    },
  }
  return definition
}

class DenseLayer extends Layer {
  readonly #activation: ActivationName | 'linear'

  constructor({ backend }: LayerBuild, info: LayerInfo, activation: ActivationName | 'linear') {
    super(backend, info)
    this.#activation = activation
  }

  async forward(input: TensorLike): Promise<Forwarded> {
    const { ops } = this.backend
    const activation = this.#activation
    const output = this.#apply(input)
    const backward = (dy: BackendTensor) => {
      const dProduct = activation === 'linear' ? dy : ops.activationGradient(output, dy, activation)
      try {
        const gradients = ops.linearGradients(input, this.variables[0].value, dProduct)
        return { input: gradients.input, variables: [gradients.kernel, gradients.bias] }
      } finally {
        if (dProduct !== dy) dProduct.dispose()
      }
    }
    return { output, backward }
  }

  override openStream(): LayerStream {
    return statelessStream(async (input) => this.#apply(input))
  }

  #apply(input: TensorLike): BackendTensor {
    const { ops } = this.backend
    const [kernel, bias] = this.variables
    const product = ops.linear(input, kernel.value, bias.value)
    if (this.#activation === 'linear') return product
    using finished = product
    return ops.activate(finished, this.#activation)
  }
}
