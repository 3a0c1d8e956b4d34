import { FINITE, type OptionsOf, optional, where } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from '../layer.js'
import { INITIALIZER } from '../layer_build.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { planned } from '../planned_layer.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Added to the variance. Default 1e-3, as in Keras (PyTorch: 1e-5). */
  epsilon: optional(where(FINITE, 'a finite number >= 0', (epsilon) => epsilon >= 0)),
  /** Default 1. */
  gammaInitializer: INITIALIZER,
  /** Default 0. */
  betaInitializer: INITIALIZER,
}

interface LayerNormLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

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
  const given = checkLayerOptions('layerNorm', options, OPTIONS)
  const { epsilon = 1e-3, gammaInitializer = 1, betaInitializer = 0 } = given
  const { name } = given
  const row = { kind: 'layerNorm', base: 'layer_normalization', name, isStepwise: true, config: { epsilon } }
  return planned(row, (input) => ({
    variables: { gamma: [[input.features], gammaInitializer], beta: [[input.features], betaInitializer] },
    output: input,
    forward: (t, x, { gamma, beta }) => t.layerNorm(x, gamma, beta, { epsilon }),
  }))
}
