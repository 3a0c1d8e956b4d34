import { NUMBER, type OptionsOf, oneOf } from '@cudnn-rnn/arguments'
import type { TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Forwarded } from './forwarded.js'
import { hostTensor } from './host_tensor.js'
import { Layer, type LayerDefinition, type Pass } from './layer.js'
import { checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from './layer_options.js'
import { PADDINGS, type Padding, withoutMasked } from './masked_steps.js'

const OPTIONS = { ...LAYER_OPTIONS, maskValue: NUMBER, padding: oneOf(PADDINGS) }

/** Options of {@link masking}. */
export interface MaskingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/** Keras' `Masking`: steps whose columns all are `maskValue` are none. The input of a model, so without a gradient. */
export function masking(options: MaskingOptions): LayerDefinition {
  checkLayerOptions('masking', options, OPTIONS)
  const { maskValue, padding } = options
  const definition: LayerDefinition = {
    kind: 'masking',
    name: options.name,
    config: { maskValue, padding },
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const name = build.nameOf(options.name, 'masking')
      return new MaskingLayer(build.backend, { definition, name, input, output: input })
    },
  }
  return definition
}

class MaskingLayer extends Layer {
  async forward(input: TensorLike, { lengths: before }: Pass): Promise<Forwarded> {
    const { maskValue, padding } = this.definition.config as { readonly maskValue: number; readonly padding: Padding }
    const sequence = (await hostTensor(input)) as Tensor<FloatArray>
    const masked = Math.fround(maskValue)
    const { steps, lengths } = withoutMasked(this.name, sequence, before, padding, (element, columns) => {
      return sequence.data.subarray(element, element + columns).some((value) => value !== masked)
    })
    return { output: this.backend.tensor(steps), backward: () => ({ input: undefined, variables: [] }), lengths }
  }
}
