import { FLAG, integerFrom, invalidOption, oneOf, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import { type GradientTape, ofDtype, type Value } from '@cudnn-rnn/ops/executor'
import { type LayerInput, lengthsOperand } from '../forwarded.js'
import type { LayerDefinition, Pass } from '../layer.js'
import { INITIALIZER } from '../layer_build.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { layer } from '../own_layer.js'
import { planned, type VariableTable } from '../planned_layer.js'

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
function operandsOf(query: LayerInput, { lengths: own, others = [] }: Pass) {
  const [value = { x: query, lengths: own }, key = value] = others
  return { query, value: value.x, key: key.x, lengths: value.lengths }
}

/** [T,B,E] as [B,T,E]. */
function byRow(t: GradientTape, x: LayerInput): Value {
  return t.transpose(t.value(x), [1, 0, 2])
}

/** [B,…,T,S] without the steps that no step sees. */
function shownScores(t: GradientTape, scores: Value, lengths: Int32Array | null, isCausal: boolean): Value {
  const [batch, ...rest] = scores.shape as readonly [number, ...number[]]
  const [time, steps] = rest.slice(-2) as [number, number]
  const shape = [batch, ...rest.slice(1).map(() => 1), steps]
  const past = lengths === null ? scores : hidden(t, scores, shape, (row, at) => at >= lengths[row])
  return isCausal ? hidden(t, past, [time, steps], (step, at) => at > step) : past
}

/** Adds −1e9 to scores at hidden places. `shape` repeats over the scores; its middle dimensions are 1. */
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

/**
 * Attention without projections: [T,B,E] to [T,B,V]. Each step weighs the steps of another sequence [S,B,V], or its own, by the
 * softmax of their scores with its keys [S,B,E], by default the same sequence: `apply(attention(), query, { others: [value, key] })`.
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
  const own = checkLayerOptions(kind, options, OPTIONS)
  const { units: given, isLinear = false, contextInitializer = 'glorot_uniform' } = own
  if (isLinear && given !== undefined) throw invalidOption(`make ${kind}`, 'units', 'absent for linear scores', given)
  const config = { ...(given !== undefined && { units: given }), ...(isLinear && { isLinear }) }
  const row = { kind, base: 'attention_pooling', name: own.name, takes: SEQUENCE, config }
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
