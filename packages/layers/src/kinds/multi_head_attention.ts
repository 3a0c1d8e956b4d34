import { FLAG, integerFrom, optional } from '@cudnn-rnn/canonical/rules'
import { type GradientTape, ofDtype, type Value } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import type { Pass } from '../layer.js'
import { layer } from '../own_layer.js'

/** Added to a score, it makes the weight 0 in both precisions. */
const HIDDEN = -1e9

/** softmax over the steps of each column; padding has no weight. */
export const timeSoftmax = layer('timeSoftmax', {}, (_, input) => ({
  output: input,
  forward: (t, x, _variables, { lengths }) => {
    const [time, batch] = x.shape as readonly [number, number]
    const byRow = t.transpose(x, [1, 2, 0])
    const shown = lengths === null ? byRow : hidden(t, byRow, [batch, 1, time], (row, at) => at >= lengths[row])
    return t.transpose(t.activate(shown, 'softmax'), [2, 0, 1])
  },
}))

/**
 * Attention of several heads (Vaswani et al. 2017): [T,B,E] to [T,B,O]. Each head weighs the steps of the sequence itself, or of
 * another one, by softmax(q·k/√`keySize`); padding has no weight. `apply(…, query, { others: [value, key] })` takes others, whose
 * columns may be as many as they will; the keys are the values unless they are given. Variables: `query`, `key` [E,H·K], `value`
 * [E,H·V], `output` [H·V,O] and their biases.
 *
 * Options: `heads`; `keySize` K; `valueSize` V, by default K; `units` O, by default E; `isCausal`, where a step sees no later
 * one.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { multiHeadAttention, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [multiHeadAttention({ heads: 2, keySize: 4 })], { inputSize: 8 })
 * const { shape } = await model.predict({ data: new Float32Array(5 * 3 * 8), shape: [5, 3, 8] }) // [T,B,E]
 * console.log(shape) // [5, 3, 8]
 * ```
 */
export const multiHeadAttention = layer(
  'multiHeadAttention',
  {
    heads: integerFrom(1),
    keySize: integerFrom(1),
    valueSize: optional(integerFrom(1)),
    units: optional(integerFrom(1)),
    isCausal: optional(FLAG),
  },
  ({ heads, keySize, valueSize = keySize, units, isCausal = false }, input, [value = input, key = value]) => {
    const output = units ?? input.features
    const sizes = { query: heads * keySize, key: heads * keySize, value: heads * valueSize }
    const projection = (name: string, from: number, to: number) => ({
      [name]: [[from, to], 'glorot_uniform'] as const,
      [`${name}_bias`]: [[to], 0] as const,
    })
    return {
      variables: {
        ...projection('query', input.features, sizes.query),
        ...projection('key', key.features, sizes.key),
        ...projection('value', value.features, sizes.value),
        ...projection('output', heads * valueSize, output),
      },
      output: { isSequence: input.isSequence, features: output },
      forward: (t, x, variables, pass) => {
        const { lengths, ...operands } = operandsOf(x, pass)
        const [time, batch] = x.shape as readonly [number, number]
        const projected = (name: 'query' | 'key' | 'value') => {
          const all = t.linear(operands[name], variables[name], variables[`${name}_bias`])
          const [steps] = operands[name].shape as readonly [number]
          return t.transpose(t.reshape(all, [steps, batch, heads, sizes[name] / heads]), [1, 2, 0, 3])
        }
        const query = t.multiply(projected('query'), 1 / Math.sqrt(keySize))
        const scores = t.matmul(query, projected('key'), { transposeB: true })
        const weights = t.activate(shownScores(t, scores, lengths, isCausal), 'softmax')
        const seen = t.transpose(t.matmul(weights, projected('value')), [2, 0, 1, 3])
        return t.linear(
          t.reshape(seen, [time, batch, heads * valueSize]),
          variables['output'],
          variables['output_bias'],
        )
      },
    }
  },
  2,
)

/** What attention reads: its own input unless other sequences are given, whose lengths count. */
export function operandsOf(query: LayerInput, { lengths: own, others = [] }: Pass) {
  const [value = { x: query, lengths: own }, key = value] = others
  return { query, value: value.x, key: key.x, lengths: value.lengths }
}

/** [T,B,E] as [B,T,E]. */
export function byRow(t: GradientTape, x: LayerInput): Value {
  return t.transpose(t.value(x), [1, 0, 2])
}

/** [B,…,T,S] without the steps that no step sees. */
export function shownScores(t: GradientTape, scores: Value, lengths: Int32Array | null, isCausal: boolean): Value {
  const [batch, ...rest] = scores.shape as readonly [number, ...number[]]
  const [time, steps] = rest.slice(-2) as [number, number]
  const shape = [batch, ...rest.slice(1).map(() => 1), steps]
  const past = lengths === null ? scores : hidden(t, scores, shape, (row, at) => at >= lengths[row])
  return isCausal ? hidden(t, past, [time, steps], (step, at) => at > step) : past
}

/** Scores without those at hidden places: of the first and last dimension of a shape whose others are 1, which repeats. */
function hidden(
  t: GradientTape,
  scores: Value,
  shape: readonly number[],
  isHidden: (first: number, last: number) => boolean,
): Value {
  const last = shape.at(-1) as number
  const length = shape.reduce((a, b) => a * b, 1)
  const data = Float32Array.from({ length }, (_, k) => (isHidden(Math.floor(k / last), k % last) ? HIDDEN : 0))
  return t.add(scores, ofDtype(t.backend.dtype, { data, shape }))
}
