import { FLAG, integerFrom, invalidOption, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { LayerDefinition } from '../layer.js'
import { INITIALIZER } from '../layer_build.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { planned, type VariableTable } from '../planned_layer.js'
import { lengthsOperand } from '../forwarded.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** A, size of the hidden layer of the scores. Default E. */
  units: optional(integerFrom(1)),
  /** True: the scores are v·x, without a hidden layer. The variable is `context` [E,1] alone. Default false. */
  isLinear: optional(FLAG),
  /** Initializes `context`. Default `glorot_uniform`. */
  contextInitializer: INITIALIZER,
}

interface AttentionPoolingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * A weighted mean over a row's steps, [T,B,E] to [B,E]; the weights are the softmax over time of v·tanh(x·kernel + bias), as
 * in Yang et al., "Hierarchical attention networks for document classification" (2016). Variables: `kernel` [E,A], `bias` [A],
 * `context` [A,1].
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { attentionPooling, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [attentionPooling({ units: 4 })], { inputSize: 3, seed: 1 })
 * const input = { data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] } // [T,B,E]
 * console.log((await model.predict(input, { sequenceLengths: [5, 2] })).shape) // [2, 3]
 * ```
 */
export function attentionPooling(options: AttentionPoolingOptions = {}): LayerDefinition {
  const kind = 'attentionPooling'
  checkLayerOptions(kind, options, OPTIONS)
  const { units: given, isLinear = false, contextInitializer = 'glorot_uniform' } = options
  if (isLinear && given !== undefined) throw invalidOption(`make ${kind}`, 'units', 'absent for linear scores', given)
  const config = { ...(given !== undefined && { units: given }), ...(isLinear && { isLinear }) }
  const row = { kind, base: 'attention_pooling', name: options.name, takes: SEQUENCE, config }
  return planned<VariableTable>(row, ({ features }) => {
    const units = given ?? features
    return {
      variables: {
        ...(!isLinear && { kernel: [[features, units], 'glorot_uniform'], bias: [[units], 0] }),
        context: [[units, 1], contextInitializer],
      },
      output: { isSequence: false, features },
      forward(t, x, { kernel, bias, context }, { lengths }) {
        const hidden = isLinear ? x : t.activate(t.linear(x, kernel, bias), 'tanh')
        // A bias of the scores would add one number to all scores of a row, which their softmax cancels.
        return t.attend(x, t.matmul(hidden, context), lengthsOperand(lengths))
      },
    }
  })
}
