import { FLAG, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { layer } from '../own_layer.js'
import type { VariableTable } from '../planned_layer.js'
import { byRow, operandsOf, shownScores } from './multi_head_attention.js'

/**
 * Attention without projections: [T,B,E] to [T,B,V]. Each step weighs the steps of another sequence [S,B,V], or its own, by the
 * softmax of their scores with its keys [S,B,E], by default the same sequence: `apply(attention({}), query, { others: [value, key] })`.
 * Padding has no weight. A score is the product of both (Luong et al. 2015), or the sum of tanh(query + key) over the columns
 * (`additive`, Bahdanau et al. 2015). Variable with `isScaled`: `scale`, of the product one number, of the columns E. Keras' `concat`
 * is weight·Σ tanh(scale·(query + key)), of two numbers.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`; when the model is built
 *   RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { cudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 * import { apply, attention, functional, input } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const [spoken, written] = [input('spoken', { features: 3 }), input('written', { features: 2 })]
 * const [encoded, decoded] = [spoken, written].map((each) => apply(cudnnGRU({ numUnits: 4 }), each))
 * const context = apply(attention({ score: 'additive' }), decoded!, { others: [encoded!] })
 * const model = functional(backend, [spoken, written], { context })
 * const zeros = (steps: number, columns: number) => ({ data: new Float32Array(steps * columns), shape: [steps, 1, columns] })
 * console.log((await model.predict({ spoken: zeros(7, 3), written: zeros(5, 2) })).context.shape) // [5, 1, 4]
 * ```
 */
export const attention = layer(
  'attention',
  {
    /** Default `product`. */
    score: optional(oneOf(['product', 'additive', 'concat'])),
    /** Default false. */
    isScaled: optional(FLAG),
    /** A step sees no later one. Default false. */
    isCausal: optional(FLAG),
  },
  ({ score = 'product', isScaled = false, isCausal = false }, input, [value = input]) => ({
    variables: {
      ...((isScaled || score === 'concat') && { scale: [[score === 'additive' ? input.features : 1], 1] }),
      ...(score === 'concat' && { weight: [[1], 1] }),
    } as VariableTable,
    output: { isSequence: true, features: value.features },
    forward: (t, x, variables, pass) => {
      const { lengths, ...operands } = operandsOf(x, pass)
      const [query, values, keys] = [operands.query, operands.value, operands.key].map((each) => byRow(t, each))
      const { scale = 1, weight = scale } = variables
      const added = () => {
        const [batch, time, columns] = query.shape as readonly [number, number, number]
        const [, steps] = keys.shape as readonly [number, number]
        const pairs = t.add(t.reshape(query, [batch, time, 1, columns]), t.reshape(keys, [batch, 1, steps, columns]))
        const scaled = score === 'concat' ? t.multiply(pairs, scale) : pairs
        return t.sum(t.multiply(t.activate(scaled, 'tanh'), weight), { axes: [-1] })
      }
      const scores = score !== 'product' ? added() : t.multiply(t.matmul(query, keys, { transposeB: true }), scale)
      const weights = t.activate(shownScores(t, scores, lengths, isCausal), 'softmax')
      return t.transpose(t.matmul(weights, values), [1, 0, 2])
    },
  }),
  2,
)
