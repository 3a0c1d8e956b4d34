import { codedRangeError, integerFrom, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { DTYPES } from '@cudnn-rnn/ops'
import type { Pooling } from '@cudnn-rnn/ops/executor'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Layer, LayerDefinition } from '../layer.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { hostTensor, lengthsOperand } from '../forwarded.js'
import { planned } from '../planned_layer.js'
import { hostStream, type LayerStream } from '../layer_stream.js'
import { layer } from '../own_layer.js'

const LAST_STEP_OPTIONS = {
  /**
   * The last step of what. `direction`: the step that each direction of a bidirectional network computes last, which is
   * step 0 for the backward one, as `return_sequences=False` of Keras and `h_n` of PyTorch have it. `sequence`: the last step
   * of the row for all columns, as `output[:, -1]` of PyTorch has it. Default `direction`. Both are equal after networks of
   * one direction.
   */
  of: optional(oneOf(['direction', 'sequence'])),
}

interface LastStepOptions extends LayerOptions, OptionsOf<typeof LAST_STEP_OPTIONS> {}

/**
 * The last state of a network, [T,B,E] to [B,E]: the output at each row's last valid step. In a bidirectional network the
 * columns of the backward direction are step 0's, which it computes last, unless `of` is `sequence`.
 *
 * @example
 * ```ts
 * import { lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [lastStep()], { inputSize: 1 })
 * const input = { data: Float32Array.of(1, 10, 2, 20, 3, 30), shape: [3, 2, 1] } // [T,B,E]
 * console.log((await model.predict(input, { sequenceLengths: [3, 2] })).data) // [3, 20]
 * ```
 */
export function lastStep(options: LastStepOptions = {}): LayerDefinition {
  const given = checkLayerOptions('lastStep', options, { ...LAYER_OPTIONS, ...LAST_STEP_OPTIONS })
  const { of = 'direction', name } = given
  return pooling('lastStep', 'last_step', 'last', { name }, of === 'sequence' ? { of } : {})
}

/** Whether a layer is a `lastStep` that takes the step which the backward direction of its input computes last. */
export function takesLastOfBackward({ kind, definition, input }: Layer): boolean {
  return kind === 'lastStep' && input.reversedFrom !== undefined && definition.config['of'] !== 'sequence'
}

/**
 * The mean over each row's steps: [T,B,E] to [B,E]; zero for a row of length 0.
 *
 * @example
 * ```ts
 * import { openBackend, sequential } from '@cudnn-rnn/rnn'
 * import { meanOverTime } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [meanOverTime()], { inputSize: 1 })
 * const input = { data: Float32Array.of(1, 10, 2, 20, 3, 30), shape: [3, 2, 1] } // [T,B,E]
 * console.log((await model.predict(input, { sequenceLengths: [3, 2] })).data) // [2, 15]
 * ```
 */
export function meanOverTime(options: LayerOptions = {}): LayerDefinition {
  return pooling('meanOverTime', 'mean_over_time', 'mean', options)
}

/**
 * The maximum of each column over a row's steps: [T,B,E] to [B,E]; zero for a row of length 0.
 *
 * @example
 * ```ts
 * import { openBackend, sequential } from '@cudnn-rnn/rnn'
 * import { maxOverTime } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [maxOverTime()], { inputSize: 1 })
 * const input = { data: Float32Array.of(1, 10, 2, 20, 3, 30), shape: [3, 2, 1] } // [T,B,E]
 * console.log((await model.predict(input, { sequenceLengths: [3, 2] })).data) // [3, 20]
 * ```
 */
export function maxOverTime(options: LayerOptions = {}): LayerDefinition {
  return pooling('maxOverTime', 'max_over_time', 'max', options)
}

function pooling(
  kind: string,
  base: string,
  pool: Pooling,
  options: LayerOptions,
  config: LayerDefinition['config'] = {},
): LayerDefinition {
  const given = checkLayerOptions(kind, options, LAYER_OPTIONS)
  return planned(
    { kind, base, name: given.name, takes: SEQUENCE, config },
    ({ features, reversedFrom: reversed }, name) => {
      const reversedFrom = config['of'] === 'sequence' ? undefined : reversed
      return {
        output: { isSequence: false, features },
        // The result of a sequence that ends with the step: the stream of a last step passes its input on.
        isStepwise: pool === 'last',
        forward: (t, x, _, { lengths, isStream }) =>
          isStream ? t.value(x) : t.poolSequence(x, lengthsOperand(lengths), { pooling: pool, reversedFrom }),
        openStream: (batch, { dtype }) =>
          pool === 'last' ? undefined : runningPool({ name, features }, DTYPES[dtype].array, batch, pool),
      }
    },
  )
}

/**
 * The stream of a mean or maximum over time: at each step that over the steps since the reset. Computed on the host: its state is the
 * number of steps, [B,1], and of each column their sum or maximum, [B,E].
 */
function runningPool(
  { name, features }: { readonly name: string; readonly features: number },
  array: typeof Float32Array | typeof Float64Array,
  batch: number,
  pooling: 'mean' | 'max',
): LayerStream {
  const form = {
    name,
    dtype: 'float64',
    shapes: [
      [batch, 1],
      [batch, features],
    ],
  } as const
  return hostStream(form, async (input, state) => {
    const [{ data: counts }, { data: values }] = state
    const { data, shape } = await hostTensor(input)
    const y = new array(data.length)
    for (const [at, x] of (data as FloatArray).entries()) {
      const k = at % values.length
      const row = Math.floor(k / features)
      if (k % features === 0) counts[row]++
      const count = counts[row]
      if (pooling === 'mean') values[k] += x
      else values[k] = count === 1 ? x : Math.max(values[k], x)
      y[at] = pooling === 'mean' ? values[k] / count : values[k]
    }
    return [{ data: y, shape }, state]
  })
}

/** The sum of each column over a row's steps: [T,B,E] to [B,E]. */
export const sumOverTime = layer('sumOverTime', {}, (_, input) => ({
  output: { isSequence: false, features: input.features },
  forward: (t, x, _variables, { lengths }) => t.sum(t.maskSequence(x, lengthsOperand(lengths)), { axes: [0] }),
}))

/** One step of each row, counted from its first one: [T,B,E] to [B,E]. */
export const stepOf = layer('stepOf', { step: integerFrom(0) }, ({ step }, input) => ({
  output: { isSequence: false, features: input.features },
  forward: (t, x, _, { lengths }) => {
    const [time, batch, columns] = x.shape as readonly [number, number, number]
    const shortest = Math.min(time, ...(lengths ?? []))
    if (shortest <= step) {
      throw codedRangeError(
        'ERR_SEQUENCE_LENGTHS',
        `Cannot take step ${step} of sequences as each must have more steps: current number is ${shortest}`,
        { minimum: step + 1, value: shortest },
      )
    }
    return t.reshape(t.slice(x, [step, 0, 0], [1, batch, columns]), [batch, columns])
  },
}))
