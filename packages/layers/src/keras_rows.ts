import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { activation } from './activation.js'
import { columnFactors, diagonal } from './column_factors.js'
import { columnScale, columnSlope } from './column_layers.js'
import { dense } from './dense.js'
import { dropout } from './dropout.js'
import { embedding } from './embedding.js'
import { CONVOLUTIONS, maxOverPictures, stepsUnder } from './keras_convolutions.js'
import { activationOf } from './keras_functions.js'
import type { KerasOptions } from './keras_options.js'
import {
  columnsOf,
  type KerasRow,
  type KerasSignal,
  type KerasVariable,
  type LayerAt,
  type PlannedLayer,
} from './keras_plan.js'
import { layerNorm } from './layer_norm.js'
import { masking } from './masking.js'
import { maxPool1d } from './max_pooling.js'
import { multiHeadAttention, timeSoftmax } from './multi_head_attention.js'
import { rearrange } from './rearrange.js'
import { repeatVector } from './repeat_vector.js'
import { maxOverTime, meanOverTime } from './sequence_pooling.js'
import { stepFunction } from './step_function.js'
import { averagePool1d, spreadSteps } from './step_windows.js'

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
export const KERAS_ROWS: ReadonlyMap<string, KerasRow> = new Map(
  Object.entries<KerasRow>({
    Embedding: {
      mask: 'makes',
      plan({ options, name, input, mask }) {
        const [size, units] = [options.count('input_dim'), options.count('output_dim')]
        options.flag('mask_zero', false)
        options.only({ sparse: [false] })
        return {
          output: { ...input, features: units },
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
        const { fused, behind } = activationOf(options)
        return {
          output: { ...input, features: units },
          layers: [dense({ units, activation: fused, ...name }), ...behind],
          variables: [['kernel', [columnsOf(options, input), units]], ...bias(hasBias, units)],
          ...withBias(hasBias, units),
        }
      },
    },
    ...CONVOLUTIONS,
    MaxPooling1D: {
      plan({ options, name, input }) {
        const poolSize = options.axis('pool_size', 2)
        options.only({ data_format: ['channels_last'] })
        const padding = options.choice('padding', ['valid', 'same'], 'valid')
        // Keras' None is the size of the pool.
        const own = { poolSize, strides: options.axis('strides', poolSize), padding }
        const pool = poolOf(options, input, own)
        return { output: pool, layers: [maxPool1d({ ...own, ...name })] }
      },
    },
    AveragePooling1D: {
      plan({ options, name, input }) {
        const poolSize = options.axis('pool_size', 2)
        options.only({ data_format: ['channels_last'] })
        const padding = options.choice('padding', ['valid', 'same'], 'valid')
        const own = { poolSize, strides: options.axis('strides', poolSize), padding }
        const pool = poolOf(options, input, own)
        return { output: pool, layers: [averagePool1d({ ...own, ...name })] }
      },
    },
    MaxPooling2D: {
      pictures: true,
      plan({ options, name, input }) {
        if (input.height === undefined) throw options.refused('its input must be pictures [time,height,channels]')
        options.only({ data_format: ['channels_last'] })
        const poolSize = options.pair('pool_size', [2, 2])
        const strides = options.pair('strides', poolSize)
        const padding = options.choice('padding', ['valid', 'same'], 'valid')
        return maxOverPictures(input, name, { poolSize, strides, padding })
      },
    },
    ZeroPadding1D: {
      plan({ options, name, input }) {
        options.only({ data_format: ['channels_last'] })
        const [zerosBefore, zerosAfter] = options.pair('padding', [1, 1], 0)
        return spread(options, input, { zerosBefore, zerosAfter, ...name })
      },
    },
    Cropping1D: {
      plan({ options, name, input }) {
        const [croppedBefore, croppedAfter] = options.pair('cropping', [1, 1], 0)
        return spread(options, input, { croppedBefore, croppedAfter, ...name })
      },
    },
    UpSampling1D: {
      plan({ options, name, input }) {
        return spread(options, input, { repeats: options.axis('size'), ...name })
      },
    },
    Flatten: {
      pictures: true,
      plan({ options, name, input }) {
        options.only({ data_format: ['channels_last'] })
        return rearranged(options, input, [-1], name)
      },
    },
    Reshape: {
      pictures: true,
      plan({ options, name, input }) {
        return rearranged(options, input, options.sizes('target_shape', -1), name)
      },
    },
    Permute: {
      plan({ options, name, input }) {
        const dims = String(options.value('dims'))
        if (dims === (input.isSequence ? '1,2' : '1')) return { output: input, layers: [] }
        const columns = columnsOf(options, input)
        if (dims !== '2,1' || !input.isSequence) throw options.wrong('dims', '[2, 1]')
        const time = stepsOf(options, input)
        const own = { from: [time, columns], to: [columns, time], transposed: true, ...name }
        return { output: { isSequence: true, features: time, time: columns }, layers: [rearrange(own)] }
      },
    },
    MultiHeadAttention: {
      mask: 'normalizes',
      plan({ options, name, input }) {
        const columns = columnsOf(options, input)
        if (!input.isSequence) throw options.refused('its input must be a sequence')
        const [heads, keySize] = [options.count('num_heads'), options.count('key_dim')]
        const valueSize = options.value('value_dim') == null ? keySize : options.count('value_dim')
        options.only({ output_shape: [], attention_axes: [[1]], use_gate: [false] })
        options.ignore('dropout', 'flash_attention', 'query_shape', 'key_shape', 'value_shape', 'training')
        const hasBias = options.flag('use_bias', true)
        const isCausal = options.flag('use_causal_mask', false)
        const named = (own: string, last: string) => {
          return own === 'output' ? [`output/${last}`, `attention_output/${last}`] : `${own}/${last}`
        }
        const part = (own: string, kernel: readonly number[], biases: readonly number[]): KerasVariable[] => [
          [named(own, 'kernel'), kernel],
          ...(hasBias ? [[named(own, 'bias'), biases] as const] : []),
        ]
        const of = (own: string, size: number) => part(own, [columns, heads, size], [heads, size])
        return {
          output: input,
          layers: [multiHeadAttention({ heads, keySize, valueSize, isCausal, ...name })],
          variables: [
            ...[...of('query', keySize), ...of('key', keySize), ...of('value', valueSize)],
            ...part('output', [heads, valueSize, columns], [columns]),
          ],
          values: (stored) => {
            const outer = [keySize, keySize, valueSize].map((size) => [columns, heads * size])
            return [...outer, [heads * valueSize, columns]].flatMap(([rows, units], k) => {
              const [kernel, own] = hasBias ? stored.slice(2 * k, 2 * k + 2) : [stored[k]]
              return [
                { data: (kernel as Tensor<FloatArray>).data, shape: [rows as number, units as number] },
                { data: own?.data ?? new Float32Array(units as number), shape: [units as number] },
              ]
            })
          },
        }
      },
    },
    Activation: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        const { fused, behind } = activationOf(options)
        if (fused === 'softmax') columnsOf(options, input)
        return { output: input, layers: fused === 'linear' ? behind : [activation(fused, name)] }
      },
    },
    ReLU: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        const [slope, threshold] = ['negative_slope', 'threshold'].map((each) => options.number(each, 0)) as [
          number,
          number,
        ]
        const given = options.value('max_value') ?? undefined
        if (given !== undefined && !(typeof given === 'number' && given > 0)) {
          throw options.wrong('max_value', 'a number > 0')
        }
        const maximum = given !== undefined && { maximum: given }
        const isPlain = slope === 0 && threshold === 0
        const own = isPlain
          ? activation('relu', { ...maximum, ...name })
          : stepFunction({ function: 'relu', slope, threshold, ...maximum, ...name })
        return { output: input, layers: [own] }
      },
    },
    LeakyReLU: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        const [old, given] = [options.value('alpha'), options.value('negative_slope')]
        const slope = options.number(given == null && old != null ? 'alpha' : 'negative_slope', 0.3)
        return { output: input, layers: [stepFunction({ function: 'relu', slope, ...name })] }
      },
    },
    ELU: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        const slope = options.number('alpha', 1)
        return { output: input, layers: [stepFunction({ function: 'elu', slope, ...name })] }
      },
    },
    PReLU: {
      mask: 'passes',
      plan({ options, name, input }) {
        const columns = columnsOf(options, input)
        const isShared = String(options.value('shared_axes') ?? '') === '1'
        if (input.isSequence !== isShared) throw options.wrong('shared_axes', input.isSequence ? '[1]' : 'null')
        return {
          output: input,
          layers: [columnSlope(name)],
          variables: [['alpha', input.isSequence ? [1, columns] : [columns]]],
          values: ([slope]) => [{ data: (slope as Tensor<FloatArray>).data, shape: [columns] }],
        }
      },
    },
    Softmax: {
      mask: 'normalizes',
      plan({ options, name, input }) {
        const isOverTime = input.isSequence && String(options.value('axis')) === '1'
        if (isOverTime) return { output: input, layers: [timeSoftmax(name)] }
        checkLastAxis(options, input, 'its axis must be the last one')
        return { output: input, layers: [activation('softmax', name)] }
      },
    },
    Identity: { mask: 'passes', pictures: true, plan: nothing() },
    Rescaling: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        const [slope, offset] = [options.number('scale'), options.number('offset', 0)]
        return { output: input, layers: [stepFunction({ function: 'line', slope, offset, ...name })] }
      },
    },
    UnitNormalization: {
      mask: 'passes',
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        return { output: input, layers: [stepFunction({ function: 'unit', ...name })] }
      },
    },
    RMSNormalization: {
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        const channels = columnsOf(options, input)
        const epsilon = options.number('epsilon', 1e-6)
        return {
          output: input,
          layers: [stepFunction({ function: 'rms', epsilon, ...name }), columnScale({ channels })],
          variables: [['scale', [channels]]],
          values: ([scale]) => [scale as Tensor<FloatArray>, { data: new Float32Array(channels), shape: [channels] }],
        }
      },
    },
    Dropout: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        options.ignore('noise_shape')
        const rate = options.number(options.value('rate') === undefined ? 'p' : 'rate')
        if (rate < 0 || rate > 1) throw options.wrong('rate', 'a number in 0..1')
        return { output: input, layers: [dropout({ rate, ...name })] }
      },
    },
    SpatialDropout1D: { mask: 'passes', pictures: true, plan: nothing('rate', 'p', 'noise_shape', 'dim_ordering') },
    GaussianDropout: { mask: 'passes', pictures: true, plan: nothing('rate', 'p') },
    GaussianNoise: { mask: 'passes', pictures: true, plan: nothing('stddev', 'sigma') },
    AlphaDropout: { mask: 'passes', pictures: true, plan: nothing('rate', 'p', 'noise_shape') },
    ActivityRegularization: { mask: 'passes', pictures: true, plan: nothing('l1', 'l2') },
    LayerNormalization: {
      mask: 'passes',
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        options.only({ rms_scaling: [false] })
        return {
          output: input,
          layers: [layerNorm({ epsilon: options.number('epsilon', 1e-3), ...name })],
          ...scaleAndCenter(options, columnsOf(options, input)),
        }
      },
    },
    BatchNormalization: {
      mask: 'passes',
      pictures: true,
      plan({ options, name, input }) {
        checkLastAxis(options, input, 'it must normalize the last axis')
        options.only({ renorm: [false] })
        options.ignore('momentum', 'synchronized', 'fused', 'renorm_clipping', 'renorm_momentum')
        const isPicture = input.height !== undefined
        const features = isPicture ? (input.features as number) / (input.height as number) : columnsOf(options, input)
        const epsilon = options.number('epsilon', 1e-3)
        const { variables, values } = scaleAndCenter(options, features)
        return {
          output: input,
          // In inference a factor and an offset of each column.
          layers: [isPicture ? columnScale({ channels: features, ...name }) : dense({ units: features, ...name })],
          variables: [...variables, ['moving_mean', [features]], ['moving_variance', [features]]],
          values: (stored) => {
            const [mean, variance] = stored.slice(variables.length)
            const [gamma, beta] = values(stored)
            const { factors, offsets } = columnFactors({ mean, variance, gamma, beta }, features, epsilon)
            return [
              isPicture ? { data: factors, shape: [features] } : diagonal([factors]),
              { data: offsets, shape: [features] },
            ]
          },
        }
      },
    },
    RepeatVector: {
      plan({ options, name, input }) {
        const steps = options.count('n')
        return {
          output: { isSequence: true, features: columnsOf(options, input), time: steps },
          layers: [repeatVector({ steps, ...name })],
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

function bias(hasBias: boolean, units: number): KerasVariable[] {
  return hasBias ? [['bias', [units]]] : []
}

/** Keras 2 counts an axis from the batch: 2 of [B,T,E], 1 of [B,E], 3 of pictures. */
function checkLastAxis(options: KerasOptions, { isSequence, height }: KerasSignal, rule: string): void {
  const [axis, ...others] = [options.value('axis') ?? -1].flat()
  const last = 1 + Number(isSequence) + Number(height !== undefined)
  if (others.length > 0 || (axis !== -1 && axis !== last)) throw options.refused(rule)
}

interface Pool {
  readonly poolSize: number
  readonly strides: number
  readonly padding: 'valid' | 'same'
}

function poolOf(options: KerasOptions, input: KerasSignal, { poolSize, strides, padding }: Pool): KerasSignal {
  return stepsUnder(input, { isSequence: true, features: columnsOf(options, input) }, poolSize, strides, padding)
}

/** Steps of an input whose number the file has. */
function stepsOf(options: KerasOptions, { time }: KerasSignal): number {
  if (time !== undefined) return time
  throw options.refused('its input must have a number of steps in the file')
}

function spread(options: KerasOptions, input: KerasSignal, own: Parameters<typeof spreadSteps>[0]): PlannedLayer {
  columnsOf(options, input)
  const { repeats = 1, croppedBefore = 0, croppedAfter = 0, zerosBefore = 0, zerosAfter = 0 } = own
  const { time } = input
  const steps = time && Math.max(0, time - croppedBefore - croppedAfter) * repeats + zerosBefore + zerosAfter
  return { output: { ...input, time: steps }, layers: [spreadSteps(own)] }
}

/** The numbers of each row in another form, of which one size may be -1. */
function rearranged(
  options: KerasOptions,
  input: KerasSignal,
  given: readonly number[],
  name: LayerAt['name'],
): PlannedLayer {
  const { features, height } = input
  if (features === null) throw options.refused('its input must be numbers, not class ids')
  const from = input.isSequence ? [stepsOf(options, input), features] : [features]
  const [all, known] = [from, given.filter((size) => size !== -1)].map((sizes) => sizes.reduce((a, b) => a * b, 1)) as [
    number,
    number,
  ]
  const form = given.map((size) => (size === -1 ? all / known : size))
  const isForm =
    form.every((size) => Number.isSafeInteger(size) && size >= 1) && form.reduce((a, b) => a * b, 1) === all
  if (!isForm || form.length > 3)
    throw options.refused(`its shape must be one of ${all} numbers in 1..3 dimensions: current shape is [${given}]`)
  const [first, ...rest] = form as [number, ...number[]]
  const columns = rest.reduce((a, b) => a * b, 1)
  const output: KerasSignal =
    rest.length === 0
      ? { isSequence: false, features: first }
      : { isSequence: true, features: columns, time: first, height: rest.length === 2 ? rest[0] : undefined }
  const to = rest.length === 0 ? [first] : [first, columns]
  const isSame = String(to) === String(from) && (rest.length !== 2 || height === undefined || height === rest[0])
  return { output, layers: isSame ? [] : [rearrange({ from, to, ...name })] }
}
