import type { ActivationName } from '@cudnn-rnn/ops/executor'
import {
  ATTENTION,
  ATTENTION_OPTIONS,
  causal,
  IS_CAUSAL,
  projection,
  SCORE_MODE,
  SCORE_WEIGHT,
} from './keras/keras_attention.js'
import { noExport } from './export_error.js'
import { CONV_LSTMS, convLstmToKeras } from './keras/keras_conv_lstm.js'
import { CONVOLUTIONS, CONVOLUTIONS_2D, pooledWhole, pooling2D, spreadPictures } from './keras/keras_convolutions.js'
import {
  type KerasLayer,
  layerOfClass,
  overPictures,
  readVariables,
  reshaped,
  scaled,
  stepOfSequence,
} from './keras/keras_layers.js'
import { FLIP, GET_ITEM, overTime, SPLIT, STEPWISE_OPERATIONS } from './keras/keras_operations.js'
import {
  ACTIVATION,
  axis,
  CHANNELS_LAST,
  choice,
  columnsOf,
  count,
  ends,
  filled,
  ignoring,
  KERNEL_AND_BIAS,
  type KerasClass,
  type KerasOption,
  lastAxis,
  number,
  only,
  SCALE_AND_CENTER,
  stated,
  stepsOf,
  unlessNull,
} from './keras/keras_row.js'
import {
  INVERT,
  NORMALIZED_AXIS,
  normalized,
  ONE_SCALE,
  rms,
  SHARED_AXES,
  slopes,
  standardized,
  UNIT_AXIS,
} from './keras/keras_scales.js'
import {
  AXES,
  concatenated,
  EXPAND_DIMS,
  NORMALIZE,
  permuted,
  pooled,
  POOLING_1D,
  rearranged,
  SQUEEZE,
} from './keras/keras_shapes.js'
import { activation } from './kinds/activation.js'
import { attention, attentionPooling, multiHeadAttention, timeSoftmax } from './kinds/attention.js'
import { diagonal } from './kinds/column_factors.js'
import { columnScale, columnSlope } from './kinds/column_layers.js'
import { convLstm } from './kinds/conv_lstm.js'
import { conv1d, conv2d } from './kinds/convolution.js'
import { dense } from './kinds/dense.js'
import { dotProduct } from './kinds/dot_product.js'
import { dropout } from './kinds/dropout.js'
import { embedding } from './kinds/embedding.js'
import { groupNorm } from './kinds/group_norm.js'
import { everyStep, holdPadding, masking } from './kinds/masking.js'
import { joinColumns, joinSteps } from './kinds/join_steps.js'
import { layerNorm } from './kinds/layer_norm.js'
import { maxPool1d, maxPool2d } from './kinds/max_pooling.js'
import { rearrange } from './kinds/rearrange.js'
import { cudnnGRU, cudnnLSTM, cudnnRNNRelu, cudnnRNNTanh } from './kinds/recurrent.js'
import { repeatVector } from './kinds/repeat_vector.js'
import { reverse } from './kinds/reverse.js'
import {
  lastStep,
  maxOverTime,
  meanOverTime,
  stepOf,
  sumOverTime,
  takesLastOfBackward,
} from './kinds/sequence_pooling.js'
import { stepFunction } from './kinds/step_function.js'
import { timeDistributed } from './kinds/time_distributed.js'
import { averagePool1d, averagePool2d, spreadRows, spreadSteps } from './kinds/step_windows.js'
import type { Layer, LayerConfig, LayerDefinition } from './layer.js'
import { type OnnxNodesOf, onnxConvolution, onnxEmbedding, onnxPooling, onnxSpreadSteps } from './onnx/onnx_layers.js'
import { featuresOf } from './signal.js'

/** A layer: how it is made, and its forms in other formats. */
interface TableRow {
  /** Makes it of its options, which it checks. */
  readonly make: (options: never) => LayerDefinition
  /** Classes of Keras that it computes; the first that has its options is that of an export. */
  readonly keras?: Readonly<Record<string, KerasClass>>
  /** Layers of Keras that compute it together; undefined if one of its classes does. */
  readonly toKeras?: ToKeras
  /** Its ONNX nodes, if they do not follow from the operations of its forward. */
  readonly onnx?: OnnxNodesOf
}

/** @param own the layer of its class */
type ToKeras = (
  layer: Layer,
  own: () => Promise<KerasLayer>,
) => readonly KerasLayer[] | Promise<readonly KerasLayer[] | undefined> | undefined

const unchanged: OnnxNodesOf = (_, _layer, x) => x

/** Classes without effect in inference, with any options. */
const NOTHING = [
  ...[
    'Identity',
    'SpatialDropout1D',
    'SpatialDropout2D',
    'SpatialDropout3D',
    'GaussianDropout',
    'GaussianNoise',
    'AlphaDropout',
  ],
  ...['ActivityRegularization', 'RandomBrightness', 'RandomColorDegeneration', 'RandomColorJitter', 'RandomContrast'],
  ...['RandomErasing', 'RandomFlip', 'RandomGaussianBlur', 'RandomGrayscale', 'RandomHue', 'RandomInvert'],
  ...['RandomPerspective', 'RandomPosterization', 'RandomRotation', 'RandomSaturation', 'RandomSharpness'],
  ...['RandomShear', 'RandomTranslation', 'RandomZoom', 'RandomElasticTransform', 'RandAugment'],
].map((name): readonly [string, KerasClass] => [
  name,
  {
    mask: 'passes',
    pictures: true,
    plan: ({ options }) => {
      options.ignoreAll()
      return { layers: [] }
    },
    isRead: true,
  },
])

const RATE = stated('rate', (options) => {
  const rate = options.number(options.value('rate') === undefined ? 'p' : 'rate')
  if (rate < 0 || rate > 1) throw options.wrong('rate', 'a number in 0..1')
  return rate
})

const MASK_ZERO: KerasOption = {
  own: 'maskZero',
  read: ({ options, mask }, option) => {
    options.flag(option, false)
    return mask === 'none' ? {} : { maskZero: mask }
  },
  write: ({ maskZero }) => maskZero !== undefined,
}

/** Functions that Keras has as operations alone. */
const FUNCTION_OPERATIONS = new Map(Object.entries({ log: 'Log', sin: 'Sin', cos: 'Cos', sign: 'Sign' }))

/** A product over the last axis alone. */
const EINSUM_DENSE: KerasClass = {
  isRead: true,
  options: {
    ...ignoring('equation', 'output_shape', 'bias_axes'),
    activation: ACTIVATION,
  },
  plan: ({ options, input, behind, name }, { activation: fused }) => {
    const [equation, size, biasAxes] = ['equation', 'output_shape', 'bias_axes'].map((each) => options.value(each))
    const [, leading = '', summed, , made] = /^(\.\.\.|[a-z]+)([a-z]),(\2)([a-z])->\1\4$/.exec(String(equation)) ?? []
    const isWhole = leading === '...' || leading.length === (input.isSequence ? 2 : 1)
    const units = [size].flat().at(-1)
    if (
      !isWhole ||
      leading.includes(made) ||
      summed === made ||
      !(Number.isSafeInteger(units) && (units as number) > 0)
    )
      throw options.wrong('equation', 'that of a product over the last axis, abc,cd->abd')
    if (biasAxes != null && biasAxes !== made) throw options.wrong('bias_axes', `null or ${made}`)
    const features = columnsOf(options, input)
    const [kernel, bias] = [[features, units as number], [units as number]]
    return {
      layers: [dense({ units: units as number, activation: fused as 'linear', ...name }), ...behind],
      stored: [['kernel', kernel], ...(biasAxes == null ? [] : ([['bias', bias]] as const))],
      values: ([first, second = { data: filled(bias, 0), shape: bias }]) => [first, second],
    }
  },
}

const MODE = choice('mode', ['multi_hot', 'one_hot', 'count'])

/** Class ids as rows of the unit matrix: one of each, or how many a sequence has of them. */
const oneHot = (options: NonNullable<KerasClass['options']>): KerasClass => ({
  isRead: true,
  takesIds: true,
  options,
  plan: ({ input: { isSequence, time }, name }, { size, mode = 'one_hot' }) => {
    const units = size as number
    const isOne = mode === 'one_hot'
    const counted = isOne ? stepOf({ step: 0 }) : mode === 'count' ? sumOverTime({}) : maxOverTime()
    // A sequence of one id is that id.
    const isCounted = isSequence && (isOne ? 'output_mode' in options && time === 1 : true)
    return {
      layers: [embedding({ size: units, units, ...name }), ...(isCounted ? [counted] : [])],
      values: () => [diagonal([filled([units], 1)])],
    }
  },
})

const MAXIMUM = unlessNull('maximum', (options, option) => {
  const maximum = options.value(option)
  if (typeof maximum === 'number' && maximum > 0) return maximum
  throw options.wrong(option, 'a number > 0')
})

const steps = (className: string, option: string, value: unknown): KerasLayer[] => {
  const sizes = [value].flat(2)
  return sizes.every((size) => size === undefined || size === 0) ? [] : [{ className, config: { [option]: value } }]
}

/** The layers of a spread of steps, or of rows of pictures: a kernel of one tap has zeros behind each. */
function spread(config: LayerConfig, channels: number, rank: '1D' | '2D' = '1D'): KerasLayer[] {
  const { croppedBefore = 0, croppedAfter = 0, repeats = 1, zerosBefore = 0, zerosAfter = 0, isSpaced } = config
  const isPicture = rank === '2D'
  const ends = (before: unknown, after: unknown) =>
    isPicture
      ? [
          [0, 0],
          [before, after],
        ]
      : [before, after]
  const size = isPicture ? [1, repeats] : repeats
  const kernel = diagonal([new Float64Array(channels).fill(1)])
  const spaced: KerasLayer = {
    className: `Conv${rank}Transpose`,
    config: { filters: channels, kernel_size: isPicture ? [1, 1] : 1, strides: size, use_bias: false },
    variables: { 'vars/0': { ...kernel, shape: [...(isPicture ? [1, 1] : [1]), ...kernel.shape] } },
  }
  const repeated = isSpaced === true ? [spaced] : steps(`UpSampling${rank}`, 'size', size)
  return [
    ...steps(`Cropping${rank}`, 'cropping', ends(croppedBefore, croppedAfter)),
    ...(repeats === 1 ? [] : repeated),
    ...steps(`ZeroPadding${rank}`, 'padding', ends(zerosBefore, zerosAfter)),
  ]
}

/**
 * Every layer that a saved model can have, but those of branches and wrappers. Import, export, the registry of saved models and
 * `docs/keras_layers.md` read it.
 */
export const LAYER_TABLE: ReadonlyMap<string, TableRow> = new Map(
  Object.entries<TableRow>({
    embedding: {
      make: embedding,
      keras: {
        Embedding: {
          mask: 'makes',
          options: { input_dim: count('size'), output_dim: count('units'), mask_zero: MASK_ZERO, sparse: only(false) },
          takesIds: true,
          weights: [{ name: 'embeddings' }],
          plan: ({ options, input: { isSequence, features }, name }, own) => {
            const given = { ...(own as { size: number; units: number }), ...name }
            if (features === null) return { layers: [embedding(given)] }
            if (!isSequence || options.flag('mask_zero', false))
              throw options.refused('its input must be class ids [B,T] or [B], or [B,T,columns] without mask_zero')
            return { layers: [embedding({ ...given, columns: features })], height: features }
          },
        },
        CategoryEncoding: oneHot({ num_tokens: count('size'), output_mode: MODE }),
        OneHot: oneHot({ num_classes: count('size'), axis: only(-1), sparse: only(false) }),
      },
      toKeras: async ({ definition, output }, own) => {
        return definition.config['columns'] === undefined
          ? undefined
          : [await own(), reshaped([-1, featuresOf(output)])]
      },
      onnx: onnxEmbedding,
    },
    masking: {
      make: masking,
      keras: {
        Masking: {
          mask: 'makes',
          options: { mask_value: number('maskValue', 0) },
          plan: ({ mask, name }, own) => {
            return {
              layers: mask === 'none' ? [] : [masking({ ...(own as { maskValue: number }), padding: mask, ...name })],
            }
          },
        },
      },
    },
    // Keras' recurrent layers do that themselves.
    holdPadding: { make: holdPadding, toKeras: () => [], onnx: unchanged },
    // An operation of Keras drops the mask of its tensor.
    everyStep: {
      make: everyStep,
      toKeras: () => [{ className: 'Multiply', config: {}, operands: [1] }],
      onnx: unchanged,
    },
    repeatVector: { make: repeatVector, keras: { RepeatVector: { options: { n: count('steps') } } } },
    cudnnLSTM: { make: cudnnLSTM },
    cudnnGRU: { make: cudnnGRU },
    cudnnRNNRelu: { make: cudnnRNNRelu },
    cudnnRNNTanh: { make: cudnnRNNTanh },
    convLstm: { make: convLstm, keras: CONV_LSTMS, toKeras: convLstmToKeras },
    dense: {
      make: dense,
      keras: {
        Dense: {
          mask: 'passes',
          pictures: 'rows',
          options: { units: count('units'), activation: ACTIVATION, ...ignoring('input_dim') },
          weights: KERNEL_AND_BIAS,
        },
        EinsumDense: EINSUM_DENSE,
      },
    },
    dropout: {
      make: dropout,
      keras: { Dropout: { mask: 'passes', pictures: true, options: { ...ignoring('noise_shape'), rate: RATE } } },
      onnx: unchanged,
    },
    layerNorm: {
      make: layerNorm,
      keras: {
        LayerNormalization: {
          mask: 'passes',
          pictures: 'rows',
          options: { axis: NORMALIZED_AXIS, rms_scaling: only(false), epsilon: number('epsilon', 1e-3) },
          weights: SCALE_AND_CENTER,
        },
      },
    },
    groupNorm: {
      make: groupNorm,
      keras: {
        GroupNormalization: {
          mask: 'normalizes',
          pictures: true,
          options: {
            groups: stated('groups', (options, option) => options.value(option)),
            axis: NORMALIZED_AXIS,
            epsilon: number('epsilon', 1e-3),
          },
          weights: SCALE_AND_CENTER,
          plan: ({ options, input, name }, { groups = 32, epsilon }) => {
            const channels = columnsOf(options, { ...input, height: undefined }) / (input.height ?? 1)
            const count = groups === -1 ? channels : (groups as number)
            if (!Number.isSafeInteger(count) || count < 1 || channels % count !== 0)
              throw options.wrong('groups', `-1 or a divisor of its ${channels} channels`)
            return { layers: [groupNorm({ groups: count, channels, epsilon: epsilon as number, ...name })] }
          },
        },
      },
      toKeras: ofChannels,
    },
    lastStep: {
      make: lastStep,
      keras: { GetItem: GET_ITEM, Split: SPLIT },
      toKeras: (layer) => (takesLastOfBackward(layer) ? undefined : [stepOfSequence(-1)]),
    },
    meanOverTime: {
      make: meanOverTime,
      keras: {
        GlobalAveragePooling1D: pooled(meanOverTime, 'uses'),
        Mean: overTime(meanOverTime, { rows: averagePool2d, factor: (columns) => 1 / columns }),
      },
    },
    sumOverTime: {
      make: sumOverTime,
      keras: { Sum: overTime(sumOverTime, { factor: () => 1 }) },
      toKeras: () => [{ className: 'Sum', config: { axis: 1, keepdims: false }, operands: [] }],
    },
    stepOf: {
      make: stepOf,
      toKeras: ({ definition: { config } }) => [stepOfSequence(Number(config['step']))],
    },
    maxOverTime: {
      make: maxOverTime,
      keras: { GlobalMaxPooling1D: pooled(maxOverTime, 'ends'), Max: overTime(maxOverTime, { rows: maxPool2d }) },
    },
    attentionPooling: { make: attentionPooling },
    reverse: {
      make: reverse,
      keras: { Flip: FLIP },
      toKeras: () => [{ className: 'Flip', config: { axis: 1 }, operands: [] }],
    },
    conv1d: {
      make: conv1d,
      keras: CONVOLUTIONS,
      toKeras: async ({ definition: { config } }, own) => {
        const { padding } = config
        if (typeof padding !== 'number') return [await own()]
        const { config: rest, ...valid } = await own()
        return [
          ...steps('ZeroPadding1D', 'padding', [padding, padding]),
          { ...valid, config: { ...rest, padding: 'valid' } },
        ]
      },
      onnx: onnxConvolution,
    },
    conv2d: {
      make: conv2d,
      keras: CONVOLUTIONS_2D,
      toKeras: ofPictures,
      onnx: onnxConvolution,
    },
    maxPool1d: { make: maxPool1d, keras: { MaxPooling1D: { options: POOLING_1D } }, onnx: onnxPooling('MaxPool') },
    maxPool2d: {
      make: maxPool2d,
      keras: { MaxPooling2D: pooling2D(maxPool2d), GlobalMaxPooling2D: pooledWhole(maxPool2d, maxOverTime) },
      toKeras: ofPictures,
      onnx: onnxPooling('MaxPool'),
    },
    averagePool2d: {
      make: averagePool2d,
      keras: {
        AveragePooling2D: pooling2D(averagePool2d),
        GlobalAveragePooling2D: pooledWhole(averagePool2d, meanOverTime),
      },
      toKeras: ofPictures,
      onnx: onnxPooling('AveragePool'),
    },
    averagePool1d: {
      make: averagePool1d,
      keras: { AveragePooling1D: { options: POOLING_1D } },
      onnx: onnxPooling('AveragePool'),
    },
    spreadSteps: {
      make: spreadSteps,
      keras: {
        ZeroPadding1D: { options: { data_format: CHANNELS_LAST, padding: ends('zerosBefore', 'zerosAfter') } },
        Cropping1D: { options: { cropping: ends('croppedBefore', 'croppedAfter') } },
        UpSampling1D: { options: { size: axis('repeats', 2) } },
      },
      toKeras: ({ definition: { config }, input }) => spread(config, featuresOf(input)),
      onnx: onnxSpreadSteps,
    },
    spreadRows: {
      make: spreadRows,
      keras: {
        UpSampling2D: spreadPictures('size', ['repeats'], 2, 1),
        ZeroPadding2D: spreadPictures('padding', ['zerosBefore', 'zerosAfter'], 1),
        Cropping2D: spreadPictures('cropping', ['croppedBefore', 'croppedAfter'], 0),
      },
      toKeras: ({ definition: { config }, input, output }) => {
        const height = Number(config['height'])
        const channels = featuresOf(input) / height
        const layers = spread(config, channels, '2D')
        return [reshaped([-1, height, channels]), ...layers, reshaped([-1, featuresOf(output)])]
      },
    },
    rearrange: {
      make: rearrange,
      keras: {
        Flatten: { pictures: true, options: { data_format: CHANNELS_LAST }, plan: (at) => rearranged(at, [-1]) },
        Reshape: {
          pictures: true,
          options: {
            target_shape: stated('to', (options, option) => options.sizes(option, -1)),
          },
          plan: (at, { to }) => rearranged(at, to as readonly number[]),
        },
        Permute: {
          pictures: 'films',
          options: { dims: stated('dims', (options, option) => String(options.value(option))) },
          plan: permuted,
        },
        ExpandDims: EXPAND_DIMS,
        Squeeze: SQUEEZE,
      },
      toKeras: ({ definition: { config } }) => {
        const { from, to } = config as Readonly<Record<'from' | 'to', readonly number[]>>
        const order = config['order']
        const sizes = (form: readonly number[]) => form.map((size) => (size === 0 ? -1 : size))
        // The form of the input states the number of its steps.
        const turned = order ? [reshaped(sizes(from)), { className: 'Permute', config: { dims: order } }] : []
        return [...turned, reshaped(sizes(to))]
      },
    },
    stepFunction: {
      make: stepFunction,
      keras: {
        ReLU: {
          mask: 'passes',
          pictures: true,
          implies: { function: 'relu' },
          options: { negative_slope: number('slope', 0), threshold: number('threshold', 0), max_value: MAXIMUM },
          plan: ({ name }, own) => {
            const { slope, threshold, maximum } = own as Readonly<Record<string, number | undefined>>
            const isPlain = slope === 0 && threshold === 0
            const bound = maximum === undefined ? {} : { maximum }
            const plain = () => activation('relu', { ...bound, ...name })
            return {
              layers: [isPlain ? plain() : stepFunction({ function: 'relu', slope, threshold, ...bound, ...name })],
            }
          },
        },
        LeakyReLU: {
          mask: 'passes',
          pictures: true,
          isRead: true,
          implies: { function: 'relu' },
          options: {
            negative_slope: stated('slope', (options) => {
              const [old, given] = [options.value('alpha'), options.value('negative_slope')]
              return options.number(given == null && old != null ? 'alpha' : 'negative_slope', 0.3)
            }),
          },
        },
        ELU: { mask: 'passes', pictures: true, implies: { function: 'elu' }, options: { alpha: number('slope', 1) } },
        Rescaling: {
          mask: 'passes',
          pictures: true,
          implies: { function: 'line' },
          options: {
            scale: { ...number('slope'), write: ({ slope }) => slope ?? 1 },
            offset: { ...number('offset', 0), write: ({ offset }) => offset ?? 0 },
          },
        },
        UnitNormalization: {
          mask: 'passes',
          pictures: 'rows',
          implies: { function: 'unit' },
          options: { axis: UNIT_AXIS },
        },
        RMSNormalization: {
          pictures: 'rows',
          isRead: true,
          options: { axis: NORMALIZED_AXIS, epsilon: number('epsilon', 1e-6) },
          weights: [{ name: 'scale' }, {}],
          plan: ({ options, input, name }, { epsilon }) => {
            const channels = columnsOf(options, input)
            return {
              layers: [
                stepFunction({ function: 'rms', epsilon: epsilon as number, ...name }),
                columnScale({ channels }),
              ],
            }
          },
        },
        Activation: {
          mask: 'passes',
          pictures: true,
          options: { activation: { ...ACTIVATION, write: (config) => config['function'] ?? config['activation'] } },
          plan: ({ options, input, name, behind }, own) => {
            const { activation: fused } = own as { readonly activation: ActivationName | 'linear' }
            const layers = fused === 'linear' ? behind : [activation(fused, name)]
            const { height = 1 } = input
            const isOfRows = height > 1 && String(options.value('activation')).endsWith('softmax')
            return { layers: isOfRows ? layers.map((each) => timeDistributed(each, { height })) : layers }
          },
        },
        ...STEPWISE_OPERATIONS,
      },
      toKeras: (layer) => {
        const { function: name, slope = 1 / 6, epsilon, exponent = 2, minimum, maximum } = layer.definition.config
        const operation = FUNCTION_OPERATIONS.get(String(name))
        if (operation !== undefined) return [{ className: operation, config: {}, operands: [] }]
        if (name === 'power') return [{ className: 'Power', config: {}, operands: [exponent] }]
        if (name === 'clip') {
          const bounds = Object.entries({ Maximum: minimum, Minimum: maximum })
          return bounds.flatMap(([className, bound]) =>
            bound === undefined ? [] : [{ className, config: {}, operands: [bound] }],
          )
        }
        if (name === 'rms') return [rms(layer, epsilon)]
        if (name === 'unit' && epsilon !== undefined) throw noExport('Keras', layer)
        if (name === 'relu' && Number(slope) < 0) return [slopes(layer, Number(slope))]
        if (name !== 'hard_sigmoid' || slope === 1 / 6) return undefined
        return [
          { className: 'Rescaling', config: { scale: slope, offset: 0.5 } },
          { className: 'ReLU', config: { max_value: 1 } },
        ]
      },
    },
    columnScale: {
      make: columnScale,
      keras: {
        BatchNormalization: {
          mask: 'passes',
          pictures: true,
          isRead: true,
          options: {
            axis: NORMALIZED_AXIS,
            renorm: only(false),
            ...ignoring('momentum', 'synchronized', 'fused', 'renorm_clipping', 'renorm_momentum'),
            epsilon: number('epsilon', 1e-3),
          },
          plan: normalized,
        },
        Normalization: {
          pictures: true,
          isRead: true,
          options: { axis: ONE_SCALE, invert: INVERT, ...ignoring('mean', 'variance') },
          plan: standardized,
        },
      },
      toKeras: (layer) => ofChannels(layer, async () => scaled(await readVariables(layer))),
    },
    columnSlope: {
      make: columnSlope,
      keras: {
        PReLU: {
          mask: 'passes',
          options: { shared_axes: SHARED_AXES },
          weights: [
            {
              name: 'alpha',
              shape: (own, { steps }, { isSequence }) => (isSequence && steps === undefined ? [1, ...own] : own),
            },
          ],
        },
      },
      toKeras: async ({ definition: { config }, input }, own) => {
        const steps = config['steps'] as number | undefined
        return [...(steps === undefined ? [] : [reshaped([steps, featuresOf(input)])]), await own()]
      },
    },
    multiHeadAttention: {
      make: multiHeadAttention,
      keras: {
        MultiHeadAttention: {
          mask: 'attends',
          options: {
            num_heads: count('heads'),
            key_dim: count('keySize'),
            value_dim: unlessNull('valueSize', (options, option) => options.count(option)),
            output_shape: unlessNull(
              'units',
              (options, option) => options.axis(option),
              (units) => [units],
            ),
            attention_axes: only([1]),
            use_gate: only(false),
            ...ignoring('dropout', 'flash_attention', 'query_shape', 'key_shape', 'value_shape', 'training'),
            ...ignoring('return_attention_scores'),
            use_causal_mask: IS_CAUSAL,
          },
          weights: [
            ...projection('query', 'keySize'),
            ...projection('key', 'keySize'),
            ...projection('value', 'valueSize'),
            ...projection('output', 'valueSize'),
          ],
          plan: ({ options, input, name }, own) => {
            if (!input.isSequence) throw options.refused('its input must be a sequence')
            return { layers: [multiHeadAttention({ ...(own as { heads: number; keySize: number }), ...name })] }
          },
        },
      },
      toKeras: async (layer, own) => [{ ...(await own()), takes: 2, isSpread: true, call: causal(layer) }],
    },
    attention: {
      make: attention,
      keras: {
        AdditiveAttention: { ...ATTENTION, implies: { score: 'additive' }, options: ATTENTION_OPTIONS },
        Attention: {
          ...ATTENTION,
          options: { ...ATTENTION_OPTIONS, score_mode: SCORE_MODE },
          weights: [...ATTENTION.weights, SCORE_WEIGHT],
        },
      },
      toKeras: async (layer, own) => [{ ...(await own()), takes: 2, call: causal(layer) }],
    },
    joinSteps: {
      make: joinSteps,
      keras: {
        Concatenate: { mask: 'normalizes', pictures: 'films', options: ignoring('axis'), plan: concatenated },
      },
      toKeras: ({ others }) => [{ className: 'Concatenate', config: { axis: 1 }, takes: 1 + others.length }],
    },
    joinColumns: {
      make: joinColumns,
      toKeras: ({ definition: { config }, input, others, output }) => {
        const rows = Number(config['rows'])
        const before = [input, ...others].map((each) => reshaped([-1, rows, featuresOf(each) / rows]))
        const joined = { className: 'Concatenate', config: { axis: -1 }, takes: before.length, before }
        return [joined, reshaped([-1, featuresOf(output)])]
      },
    },
    dotProduct: {
      make: dotProduct,
      keras: {
        Dot: {
          options: { axes: AXES, normalize: NORMALIZE },
          plan: ({ options, input, others, name }, { over, isNormalized }) => {
            const [other] = others
            if (other === undefined || others.length > 1) throw options.refused('it must take two tensors')
            const [last, side] = other.isSequence ? [other, 1] : [input, 0]
            const isCounted = last.isSequence && (over as readonly string[])[side] === 'columns'
            const steps = isCounted ? { steps: stepsOf(options, last) } : {}
            const norm = isNormalized === true ? { isNormalized } : {}
            return { layers: [dotProduct({ over: over as never, ...steps, ...norm, ...name })] }
          },
        },
      },
      toKeras: async ({ definition: { config }, input, others: [other] }, own) => {
        const { steps, over } = config as { readonly steps?: number; readonly over: readonly string[] }
        const signals = [input, other ?? input] as const
        const last = signals[1].isSequence ? 1 : 0
        // The form of a value states how many steps become columns, or meet columns.
        const before = signals.map((signal, k) => {
          const meets = over[1 - k] === 'columns' ? featuresOf(signals[1 - k]) : undefined
          const known = over[k] === 'steps' ? meets : k === last ? steps : undefined
          return signal.isSequence && known !== undefined ? reshaped([known, featuresOf(signal)]) : undefined
        })
        return [{ ...(await own()), takes: 2, before }]
      },
    },
    timeSoftmax: {
      make: timeSoftmax,
      keras: {
        Softmax: {
          mask: 'normalizes',
          pictures: 'rows',
          options: { axis: { read: () => ({}), write: () => 1 } },
          plan: (at) => {
            const { options, input, name } = at
            if (options.value('axis') === null) throw options.wrong('axis', 'one axis')
            const isOverTime =
              input.isSequence && input.isRow !== true && ['1', '-2'].includes(String(options.value('axis')))
            if (isOverTime) return { layers: [timeSoftmax(name)] }
            lastAxis('its axis must be the last one').read(at, 'axis', {})
            return { layers: [activation('softmax', name)] }
          },
        },
      },
    },
    activation: {
      make: ({ activation: name, ...options }: { activation: 'tanh' }) => activation(name, options),
      toKeras: ({ definition: { config } }) => {
        const { maximum, activation: name } = config
        return maximum === undefined
          ? [{ className: 'Activation', config: { activation: name } }]
          : [{ className: 'ReLU', config: { max_value: maximum } }]
      },
    },
  }),
)

/** The classes of Keras, each with the function that makes its layer. */
export const KERAS_CLASSES: ReadonlyMap<string, KerasClass & Partial<Pick<TableRow, 'make'>>> = new Map([
  ...[...LAYER_TABLE.values()].flatMap(({ make, keras = {} }) => {
    return Object.entries(keras).map(([name, row]) => [name, { ...row, make }] as const)
  }),
  ...NOTHING,
])

async function ofPictures(layer: Layer, own: () => Promise<KerasLayer>): Promise<KerasLayer[]> {
  return overPictures(layer, Number(layer.definition.config['height']), await own())
}

async function ofChannels(layer: Layer, own: () => Promise<KerasLayer>): Promise<KerasLayer[]> {
  const height = featuresOf(layer.input) / Number(layer.definition.config['channels'])
  return height === 1 ? [await own()] : overPictures(layer, height, await own())
}

/** The layers of Keras that compute one here, one behind the other. Throws RangeError `ERR_NO_EXPORT`. */
export async function kerasLayersOf(layer: Layer): Promise<readonly KerasLayer[]> {
  const { keras = {}, toKeras }: Partial<TableRow> = LAYER_TABLE.get(layer.kind) ?? {}
  const own = () => layerOfClass(keras, layer)
  return (await toKeras?.(layer, own)) ?? [await own()]
}
