import { integerFrom, type OptionsOf } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition } from './layer.js'
import { checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** T, the steps of the output. */
  steps: integerFrom(1),
}

/** Options of {@link repeatVector}. */
export interface RepeatVectorOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/** [B,E] at each of T steps: [T,B,E], as Keras' `RepeatVector`. */
export function repeatVector(options: RepeatVectorOptions): LayerDefinition {
  checkLayerOptions('repeatVector', options, OPTIONS)
  const definition: LayerDefinition = {
    kind: 'repeatVector',
    name: options.name,
    config: { steps: options.steps },
    build(input, build) {
      checkInputRule(definition, input, { isSequence: false, isIds: false, text: '[B,E]' })
      const name = build.nameOf(options.name, 'repeat_vector')
      const output = { isSequence: true, features: input.features }
      return new RepeatVectorLayer(build.backend, { definition, name, input, output })
    },
  }
  return definition
}

class RepeatVectorLayer extends Layer {
  /** The lengths of the sequence before the vector are not those of the new one. */
  override outputLengths(lengths: Int32Array): Int32Array {
    const { steps } = this.definition.config as { readonly steps: number }
    return lengths.map(() => steps)
  }

  async forward(input: TensorLike): Promise<Forwarded> {
    const { ops } = this.backend
    const { steps } = this.definition.config as { readonly steps: number }
    const [batch] = input.shape as [number]
    // Each row is the vector of its number.
    const rows = { data: Int32Array.from({ length: steps * batch }, (_, k) => k % batch), shape: [steps, batch] }
    const backward = (dy: BackendTensor) => ({ input: ops.embeddingGradient(batch, rows, dy), variables: [] })
    return { output: ops.embedding(input, rows), backward }
  }
}
