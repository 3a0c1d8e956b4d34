import { integerFrom, type OptionsOf, oneOf, optional } from '@cudnn-rnn/arguments'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import type { Forwarded } from './forwarded.js'
import { hostTensor } from './host_tensor.js'
import { Layer, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import { INITIALIZER } from './layer_build.js'
import { CLASS_IDS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'
import { PADDINGS, type Padding, withoutMasked } from './masked_steps.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** V, the number of class ids. */
  size: integerFrom(1),
  /** E */
  units: integerFrom(1),
  /**
   * Keras' `mask_zero`: id 0 is no step. `end` takes zeros at the end of rows alone, `anywhere` closes the gaps that others
   * leave, so that layers behind it see the steps of a row without them. Default `none`: 0 is an id as others.
   */
  maskZero: optional(oneOf(['none', ...PADDINGS])),
  /** Default `{ uniform: 0.05 }`, as in Keras. */
  initializer: INITIALIZER,
}

/** Options of {@link embedding}. */
export interface EmbeddingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Class ids [T,B] (or [B], int32) to rows of a table [V,E]: [T,B,E]. Variable: `embeddings`.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { embedding, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [embedding({ size: 10, units: 4 })], { seed: 1 })
 * const ids = { data: Int32Array.of(3, 1, 4, 1, 5, 9), shape: [3, 2] } // [T,B]
 * console.log((await model.predict(ids)).shape) // [3, 2, 4]
 * ```
 */
export function embedding(options: EmbeddingOptions): LayerDefinition {
  checkLayerOptions('embedding', options, OPTIONS)
  const { size, units, maskZero = 'none' } = options
  const definition: LayerDefinition = {
    kind: 'embedding',
    name: options.name,
    isStepwise: true,
    config: { size, units, ...(maskZero !== 'none' && { maskZero }) },
    input: { isSequence: true, features: null },
    build(input, build) {
      checkInputRule(definition, input, CLASS_IDS)
      const name = build.nameOf(options.name, 'embedding')
      const initializer = options.initializer ?? { uniform: 0.05 }
      const variables = build.variables(name, [['embeddings', [size, units], initializer]])
      const output = { isSequence: input.isSequence, features: units }
      return new EmbeddingLayer(build.backend, { definition, name, input, output, variables }, maskZero)
    },
  }
  return definition
}

class EmbeddingLayer extends Layer {
  readonly #maskZero: Padding | 'none'

  constructor(backend: Backend, info: LayerInfo, maskZero: Padding | 'none') {
    super(backend, info)
    this.#maskZero = maskZero
  }

  async forward(given: TensorLike, { lengths: before }: Pass): Promise<Forwarded> {
    const { ops } = this.backend
    const masked = this.#maskZero === 'none' ? undefined : await this.#withoutZeros(given, before, this.#maskZero)
    const ids = masked?.steps ?? given
    const output = this.#lookUp(ids)
    const backward = (dy: BackendTensor) => ({
      input: undefined,
      variables: [ops.embeddingGradient(this.variables[0].shape[0], ids, dy)],
    })
    return { output, backward, ...(masked && { lengths: masked.lengths }) }
  }

  async #withoutZeros(given: TensorLike, lengths: Pass['lengths'], padding: Padding) {
    const ids = (await hostTensor(given)) as Tensor<Int32Array>
    return withoutMasked(this.name, ids, lengths, padding, (element) => ids.data[element] !== 0)
  }

  override openStream(): LayerStream {
    return statelessStream(async (ids) => {
      if (this.#maskZero !== 'none') await this.#withoutZeros(ids, null, 'end')
      return this.#lookUp(ids)
    })
  }

  #lookUp(ids: TensorLike): BackendTensor {
    return this.backend.ops.embedding(this.variables[0].value, ids)
  }
}
