import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { NUMBER, type OptionsOf, oneOf } from '@cudnn-rnn/canonical/rules'
import { hostTensor } from '../host_tensor.js'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { PADDINGS, withoutMasked } from './masked_steps.js'
import { planned } from '../planned_layer.js'

const OPTIONS = { ...LAYER_OPTIONS, maskValue: NUMBER, padding: oneOf(PADDINGS) }

/** Options of {@link masking}. */
export interface MaskingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/** Keras' `Masking`: steps whose columns all are `maskValue` are none. The input of a model, so without a gradient. */
export function masking(options: MaskingOptions): LayerDefinition {
  checkLayerOptions('masking', options, OPTIONS)
  const { maskValue, padding } = options
  const row = { kind: 'masking', base: 'masking', name: options.name, takes: SEQUENCE, config: { maskValue, padding } }
  const masked = Math.fround(maskValue)
  return planned(row, (input, name) => ({
    output: input,
    async forward(t, x, _, pass) {
      const sequence = (await hostTensor(x)) as Tensor<FloatArray>
      const isStep = (element: number, columns: number) =>
        sequence.data.subarray(element, element + columns).some((value) => value !== masked)
      const { steps, lengths } = withoutMasked(name, sequence, pass.lengths, padding, isStep)
      return { output: t.value(steps), lengths }
    },
  }))
}
