import { checkedElsewhere, invalidOption, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import { ACTIVATIONS, type ActivationName } from '@cudnn-rnn/ops/executor'
import type { LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { planned } from '../planned_layer.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Maximum of `relu`: min(max(x, 0), maximum), positive; its derivative there is 0. Default: none. */
  // Its values depend on the activation.
  maximum: checkedElsewhere<number | undefined>(),
}

interface ActivationLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

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
    throw invalidOption('make activation', 'activation', ACTIVATIONS, name)
  }
  const given = checkLayerOptions('activation', options, OPTIONS)
  const { maximum } = given
  if (maximum !== undefined && !(name === 'relu' && typeof maximum === 'number' && maximum > 0)) {
    throw invalidOption('make activation', 'maximum', name === 'relu' ? 'a number > 0' : `absent for ${name}`, maximum)
  }
  const config = { activation: name, ...(maximum !== undefined && { maximum }) }
  const row = { kind: 'activation', base: 'activation', name: given.name, isStepwise: true, config }
  return planned(row, (input) => ({ output: input, forward: (t, x) => t.activate(x, name, { maximum }) }))
}
