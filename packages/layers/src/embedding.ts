import { integerFrom, type OptionsOf } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition } from './layer.js'
import { INITIALIZER } from './layer_build.js'
import { CLASS_IDS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { type LayerStream, statelessStream } from './layer_stream.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** V, the number of class ids. */
  size: integerFrom(1),
  /** E */
  units: integerFrom(1),
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
  const { size, units } = options
  const definition: LayerDefinition = {
    kind: 'embedding',
    name: options.name,
    isStepwise: true,
    config: { size, units },
    input: { isSequence: true, features: null },
    build(input, build) {
      checkInputRule(definition, input, CLASS_IDS)
      const name = build.nameOf(options.name, 'embedding')
      const initializer = options.initializer ?? { uniform: 0.05 }
      const variables = build.variables(name, [['embeddings', [size, units], initializer]])
      const output = { isSequence: input.isSequence, features: units }
      return new EmbeddingLayer(build.backend, { definition, name, input, output, variables })
    },
  }
  return definition
}

class EmbeddingLayer extends Layer {
  async forward(ids: TensorLike): Promise<Forwarded> {
    const { ops } = this.backend
    const output = this.#lookUp(ids)
    const backward = (dy: BackendTensor) => ({
      input: undefined,
      variables: [ops.embeddingGradient(this.variables[0].shape[0], ids, dy)],
    })
    return { output, backward }
  }

  override openStream(): LayerStream {
    return statelessStream(async (ids) => this.#lookUp(ids))
  }

  #lookUp(ids: TensorLike): BackendTensor {
    return this.backend.ops.embedding(this.variables[0].value, ids)
  }
}
