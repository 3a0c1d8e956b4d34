import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { activation } from './activation.js'
import { conv1d } from './convolution.js'
import { dense } from './dense.js'
import { dropout } from './dropout.js'
import { embedding } from './embedding.js'
import type { KerasOptions } from './keras_options.js'
import type { LayerDefinition } from './layer.js'
import { layerNorm } from './layer_norm.js'
import type { Padding } from './masked_steps.js'
import { masking } from './masking.js'
import { maxPool1d } from './max_pooling.js'
import { repeatVector } from './repeat_vector.js'
import { maxOverTime, meanOverTime } from './sequence_pooling.js'
import type { Signal } from './signal.js'

/** A variable of a layer, by its own name and its shape. */
export type KerasVariable = readonly [own: string, shape: readonly number[]]

/** A layer of Keras as layers here. */
export interface PlannedLayer {
  readonly output: Signal
  readonly layers: readonly LayerDefinition[]
  /** Of the first layer, as the file has them; it lists those with a name here first. */
  readonly variables?: readonly KerasVariable[]
  /** The first layer's values from those of `variables`. Default: these. */
  readonly values?: (stored: readonly Tensor<FloatArray>[]) => readonly Tensor<FloatArray>[]
}

/** The parts of a file from which a row makes a layer. */
interface LayerAt {
  readonly options: KerasOptions
  readonly name: { readonly name?: string }
  readonly input: Signal
  /** Of a layer that masks: where masked steps may be, or `none` if nothing behind it looks at the mask. */
  readonly mask: Padding | 'none'
}

/** The use of the mask of an earlier layer. A row that states none drops the mask, as Keras does. */
type MaskUse = 'makes' | 'uses' | 'passes' | 'ends' | 'normalizes'

interface Row {
  readonly mask?: MaskUse
  readonly plan: (at: LayerAt) => PlannedLayer
}

const ACTIVATIONS = ['linear', 'tanh', 'sigmoid', 'relu', 'elu', 'softplus', 'softmax'] as const

/** A layer without effect in inference. */
const nothing =
  (...options: readonly string[]) =>
  ({ options: given, input }: LayerAt): PlannedLayer => {
    given.ignore(...options)
    return { output: input, layers: [] }
  }

const withBias = (hasBias: boolean, units: number): Pick<PlannedLayer, 'values'> =>
  hasBias ? {} : { values: (stored) => [...stored, { data: new Float32Array(units), shape: [units] }] }

/** The layers that are imported; recurrent ones and wrappers are read beside them. */
export const KERAS_ROWS: ReadonlyMap<string, Row> = new Map(
  Object.entries<Row>({
    Embedding: {
      mask: 'makes',
      plan({ options, name, input, mask }) {
        const [size, units] = [options.count('input_dim'), options.count('output_dim')]
        options.flag('mask_zero', false)
        options.only({ sparse: [false] })
        return {
          output: { isSequence: input.isSequence, features: units },
          layers: [embedding({ size, units, ...(mask !== 'none' && { maskZero: mask }), ...name })],
          variables: [['embeddings', [size, units]]],
        }
      },
    },
    Masking: {
      mask: 'makes',
      plan({ options, name, input, mask }) {
        const maskValue = options.number('mask_value', 0)
        return { output: input, layers: mask === 'none' ? [] : [masking({ maskValue, padding: mask, ...name })] }
      },
    },
    Dense: {
      mask: 'passes',
      plan({ options, name, input }) {
        const units = options.count('units')
        const hasBias = options.flag('use_bias', true)
        options.ignore('input_dim')
        return {
          output: { isSequence: input.isSequence, features: units },
          layers: [dense({ units, activation: options.choice('activation', ACTIVATIONS, 'linear'), ...name })],
          variables: [['kernel', [featuresOf(options, input), units]], ...bias(hasBias, units)],
          ...withBias(hasBias, units),
        }
      },
    },
    Conv1D: {
      plan({ options, name, input }) {
        const [filters, kernelSize, strides] = [
          options.count('filters'),
          options.axis('kernel_size'),
          options.axis('strides'),
        ]
        const isPlain = options.axis('dilation_rate') === 1 && (options.value('groups') ?? 1) === 1
        if (!isPlain) throw options.refused('it must have neither dilation nor groups')
        options.only({ data_format: ['channels_last'] })
        const hasBias = options.flag('use_bias', true)
        const padding = options.choice('padding', ['valid', 'same', 'causal'], 'valid')
        const own = { filters, kernelSize, strides, padding }
        return {
          output: { isSequence: true, features: filters },
          layers: [conv1d({ ...own, activation: options.choice('activation', ACTIVATIONS, 'linear'), ...name })],
          variables: [['kernel', [kernelSize, featuresOf(options, input), filters]], ...bias(hasBias, filters)],
          ...withBias(hasBias, filters),
        }
      },
    },
    MaxPooling1D: {
      plan({ options, name, input }) {
        const poolSize = options.axis('pool_size', 2)
        options.only({ data_format: ['channels_last'] })
        const padding = options.choice('padding', ['valid', 'same'], 'valid')
        // Keras' None is the size of the pool.
        const own = { poolSize, strides: options.axis('strides', poolSize), padding }
        return { output: { isSequence: true, features: input.features }, layers: [maxPool1d({ ...own, ...name })] }
      },
    },
    Activation: {
      mask: 'passes',
      plan({ options, name, input }) {
        const kind = options.choice('activation', ACTIVATIONS, 'linear')
        return { output: input, layers: kind === 'linear' ? [] : [activation(kind, name)] }
      },
    },
    ReLU: {
      mask: 'passes',
      plan({ options, name, input }) {
        options.only({ negative_slope: [0, [0]], threshold: [0, [0]] })
        const maximum = options.value('max_value') ?? undefined
        if (maximum !== undefined && !(typeof maximum === 'number' && maximum > 0)) {
          throw options.wrong('max_value', 'a number > 0')
        }
        return { output: input, layers: [activation('relu', { ...(maximum !== undefined && { maximum }), ...name })] }
      },
    },
    Softmax: {
      mask: 'normalizes',
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'its axis must be the last one')
        return { output: input, layers: [activation('softmax', name)] }
      },
    },
    Dropout: {
      mask: 'passes',
      plan({ options, name, input }) {
        options.ignore('noise_shape')
        const rate = options.number(options.value('rate') === undefined ? 'p' : 'rate')
        if (rate < 0 || rate > 1) throw options.wrong('rate', 'a number in 0..1')
        return { output: input, layers: [dropout({ rate, ...name })] }
      },
    },
    SpatialDropout1D: { mask: 'passes', plan: nothing('rate', 'p', 'noise_shape', 'dim_ordering') },
    GaussianDropout: { mask: 'passes', plan: nothing('rate', 'p') },
    GaussianNoise: { mask: 'passes', plan: nothing('stddev', 'sigma') },
    AlphaDropout: { mask: 'passes', plan: nothing('rate', 'p', 'noise_shape') },
    ActivityRegularization: { mask: 'passes', plan: nothing('l1', 'l2') },
    LayerNormalization: {
      mask: 'passes',
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        options.only({ rms_scaling: [false] })
        return {
          output: input,
          layers: [layerNorm({ epsilon: options.number('epsilon', 1e-3), ...name })],
          ...scaleAndCenter(options, featuresOf(options, input)),
        }
      },
    },
    BatchNormalization: {
      mask: 'passes',
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        options.only({ renorm: [false] })
        options.ignore('momentum', 'synchronized', 'fused', 'renorm_clipping', 'renorm_momentum')
        const features = featuresOf(options, input)
        const epsilon = options.number('epsilon', 1e-3)
        const { variables, values } = scaleAndCenter(options, features)
        return {
          output: input,
          // In inference a factor and an offset of each column.
          layers: [dense({ units: features, ...name })],
          variables: [...variables, ['moving_mean', [features]], ['moving_variance', [features]]],
          values: (stored) => {
            const [mean, variance] = stored.slice(variables.length).map(({ data }) => data) as [FloatArray, FloatArray]
            const [gamma, beta] = values(stored).map(({ data }) => data) as [FloatArray, FloatArray]
            const factors = Float64Array.from(gamma, (scale, k) => scale / Math.sqrt((variance[k] as number) + epsilon))
            const offsets = Float64Array.from(
              beta,
              (offset, k) => offset - (factors[k] as number) * (mean[k] as number),
            )
            return [diagonal([factors]), { data: offsets, shape: [features] }]
          },
        }
      },
    },
    RepeatVector: {
      plan({ options, name, input }) {
        return {
          output: { isSequence: true, features: input.features },
          layers: [repeatVector({ steps: options.count('n'), ...name })],
        }
      },
    },
    GlobalAveragePooling1D: {
      mask: 'uses',
      plan({ options, name, input }) {
        options.only({ keepdims: [false], data_format: ['channels_last'] })
        return { output: { isSequence: false, features: input.features }, layers: [meanOverTime(name)] }
      },
    },
    GlobalMaxPooling1D: {
      mask: 'ends',
      plan({ options, name, input }) {
        options.only({ keepdims: [false], data_format: ['channels_last'] })
        return { output: { isSequence: false, features: input.features }, layers: [maxOverTime(name)] }
      },
    },
  }),
)

/** The variables of a layer that scales its result and moves it, each where the options say that it has one. */
function scaleAndCenter(options: KerasOptions, features: number) {
  const present: readonly (readonly [boolean, string, number])[] = [
    [options.flag('scale', true), 'gamma', 1],
    [options.flag('center', true), 'beta', 0],
  ]
  return {
    variables: present.flatMap(([has, own]): KerasVariable[] => (has ? [[own, [features]]] : [])),
    values: (stored: readonly Tensor<FloatArray>[]) => {
      const rest = [...stored]
      return present.map(([has, , absent]) => {
        const value = has ? rest.shift() : undefined
        return value ?? { data: new Float32Array(features).fill(absent), shape: [features] }
      })
    },
  }
}

/** Diagonal matrices above each other, a kernel that adds up as many groups of columns, each by its factors. */
export function diagonal(groups: readonly FloatArray[]): Tensor<FloatArray> {
  const size = groups[0]?.length ?? 0
  const data = new Float64Array(groups.length * size * size)
  for (const [group, factors] of groups.entries()) {
    for (const [k, factor] of factors.entries()) data[(group * size + k) * size + k] = factor
  }
  return { data, shape: [groups.length * size, size] }
}

function bias(hasBias: boolean, units: number): KerasVariable[] {
  return hasBias ? [['bias', [units]]] : []
}

export function featuresOf(options: KerasOptions, { features }: Signal): number {
  if (features !== null) return features
  throw options.refused('its input must be numbers, not class ids: an Embedding must come before it')
}

/** Keras 2 counts an axis from the batch: 2 of [B,T,E], 1 of [B,E]. */
function checkLastAxis(options: KerasOptions, { isSequence }: Signal, rule: string): void {
  const [axis, ...others] = [options.value('axis') ?? -1].flat()
  if (others.length > 0 || (axis !== -1 && axis !== (isSequence ? 2 : 1))) throw options.refused(rule)
}
