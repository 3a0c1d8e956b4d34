import { integerFrom, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { ACTIVATIONS, type ActivationName, type GradientTape, type Value } from '@cudnn-rnn/ops/executor'
import type { LayerDefinition } from '../layer.js'
import { INITIALIZER } from '../layer_build.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { planned } from '../planned_layer.js'

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

interface DenseOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * f(x·kernel + bias) over the last dimension, at every step of a sequence: [...,I] to [...,O]. Variables: `kernel` [I,O],
 * `bias` [O].
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
  const given = checkLayerOptions('dense', options, OPTIONS)
  const { units, activation = 'linear', kernelInitializer = 'glorot_uniform', biasInitializer = 0 } = given
  const row = { kind: 'dense', base: 'dense', name: given.name, isStepwise: true, config: { units, activation } }
  return planned(row, ({ isSequence, features }) => ({
    variables: { kernel: [[features, units], kernelInitializer], bias: [[units], biasInitializer] },
    output: { isSequence, features: units },
    forward: (t, x, { kernel, bias }) => activated(t, t.linear(x, kernel, bias), activation),
  }))
}

/** The activation of a product; `linear` is the product itself. */
export function activated(t: GradientTape, product: Value, activation: ActivationName | 'linear'): Value {
  return activation === 'linear' ? product : t.activate(product, activation)
}
