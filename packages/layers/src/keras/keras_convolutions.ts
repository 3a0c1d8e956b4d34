import { conv1d, conv2d } from '../kinds/convolution.js'
import {
  ACTIVATION,
  axis,
  CHANNELS_LAST,
  choice,
  columnsOf,
  count,
  extent,
  type Floats,
  BIAS,
  filled,
  KERNEL_AND_BIAS,
  type KerasClass,
  type KerasVariable,
  type LayerAt,
  type OwnOptions,
  only,
  type PlannedLayer,
  stated,
} from './keras_row.js'
import { maxPool2d } from '../kinds/max_pooling.js'
import { windowCount } from '../kinds/windows.js'

/** Taps of a kernel of groups, as one kernel of all channels with zeros between and beside them: [K',C,F]. */
function wholeKernel({ data, shape }: Floats, { size, channels, filters, groups, dilation }: KernelSizes): Floats {
  if (groups === 1 && dilation === 1) return { data, shape }
  const taps = (size - 1) * dilation + 1
  const whole = new Float64Array(taps * channels * filters)
  const [own, ofGroup] = [channels / groups, filters / groups]
  for (let k = 0; k < data.length; k++) {
    const [filter, channel, tap] = [k % filters, Math.floor(k / filters) % own, Math.floor(k / (filters * own))]
    const from = Math.floor(filter / ofGroup) * own + channel
    whole[(tap * dilation * channels + from) * filters + filter] = data[k] as number
  }
  return { data: whole, shape: [taps, channels, filters] }
}

interface KernelSizes {
  readonly size: number
  readonly channels: number
  readonly filters: number
  readonly groups: number
  readonly dilation: number
}

/** Options along time; `dilation` is a part of the kernel here. */
const ALONG_TIME = {
  data_format: CHANNELS_LAST,
  kernel_size: axis('kernelSize'),
  strides: axis('strides'),
  dilation_rate: axis('dilation'),
  padding: choice('padding', ['valid', 'same', 'causal']),
  activation: ACTIVATION,
}

/** A number that is 1 if it is absent. */
const orOne = (own: string) =>
  stated(own, (options, option) => (options.value(option) == null ? 1 : options.count(option)))

/** A convolution along time whose kernel is made of the file's kernels. */
function alongTime(
  { options, input, name, behind }: LayerAt,
  own: OwnOptions,
  sizesOf: (channels: number) => readonly [filters: number, groups: number, ...stored: readonly KerasVariable[]],
  kernelOf = ([kernel]: readonly Floats[], _filters: number): Floats => kernel,
): PlannedLayer {
  const { kernelSize: size, dilation, strides, padding, activation } = own as Readonly<Record<string, never>>
  const channels = columnsOf(options, input)
  const [filters, groups, ...kernels] = sizesOf(channels)
  const hasBias = options.flag('use_bias', true)
  const kernelSize = (size - 1) * dilation + 1
  return {
    layers: [conv1d({ filters, kernelSize, strides, padding, activation, ...name }), ...behind],
    stored: hasBias ? [...kernels, ['bias', [filters]]] : kernels,
    values: (stored) => [
      wholeKernel(kernelOf(stored, filters), { size, channels, filters, groups, dilation }),
      hasBias ? (stored.at(-1) as Floats) : { data: filled([filters], 0), shape: [filters] },
    ],
  }
}

/** Keras' convolutions, as one: a dilated, grouped or separable kernel is a whole one with zeros. */
export const CONVOLUTIONS = {
  Conv1D: {
    options: { ...ALONG_TIME, filters: count('filters'), groups: orOne('groups') },
    weights: KERNEL_AND_BIAS,
    plan: (at, own) =>
      alongTime(at, own, (channels) => {
        const { filters, groups, kernelSize } = own as Readonly<Record<string, number>>
        if (channels % groups !== 0 || filters % groups !== 0)
          throw at.options.wrong('groups', 'a divisor of both numbers of channels')
        return [filters, groups, ['kernel', [kernelSize, channels / groups, filters]]]
      }),
  },
  DepthwiseConv1D: {
    isRead: true,
    options: { ...ALONG_TIME, depth_multiplier: orOne('multiplier') },
    plan: (at, own) =>
      alongTime(at, own, (channels) => {
        const { multiplier, kernelSize } = own as Readonly<Record<string, number>>
        const names = ['depthwise_kernel', 'kernel']
        return [channels * multiplier, channels, [names, [kernelSize, channels, multiplier]]]
      }),
  },
  SeparableConv1D: {
    isRead: true,
    options: { ...ALONG_TIME, filters: count('filters'), depth_multiplier: orOne('multiplier') },
    plan: (at, own) => {
      const { filters, multiplier, kernelSize } = own as Readonly<Record<string, number>>
      return alongTime(
        at,
        own,
        (channels) => [
          ...([filters, 1] as const),
          ['depthwise_kernel', [kernelSize, channels, multiplier]],
          ['pointwise_kernel', [1, channels * multiplier, filters]],
        ],
        ([depthwise, pointwise]) => {
          const [size, channels] = depthwise.shape as readonly [number, number]
          const product = new Float64Array(size * channels * filters)
          for (const [k, tap] of depthwise.data.entries()) {
            const [row, column] = [Math.floor(k / multiplier), k % (channels * multiplier)]
            for (let f = 0; f < filters; f++) product[row * filters + f] += tap * pointwise.data[column * filters + f]
          }
          return { data: product, shape: [size, channels, filters] }
        },
      )
    },
  },
} satisfies Readonly<Record<string, KerasClass>>

const VALID_OR_SAME = choice('padding', ['valid', 'same'])

const OVER_PICTURES = {
  data_format: CHANNELS_LAST,
  filters: count('filters'),
  padding: VALID_OR_SAME,
  activation: ACTIVATION,
}

export const CONV2D: KerasClass = {
  pictures: true,
  options: {
    ...OVER_PICTURES,
    kernel_size: extent('kernelSize', 1),
    strides: extent('strides', 1),
    dilation_rate: only([1, 1], 1),
    groups: only(1),
  },
  weights: KERNEL_AND_BIAS,
  plan: overPictures,
}

export const MAX_POOLING2D: KerasClass = {
  pictures: true,
  options: {
    data_format: CHANNELS_LAST,
    pool_size: extent('poolSize', 2),
    strides: extent('strides', 'poolSize'),
    padding: VALID_OR_SAME,
  },
  plan: maxOverPictures,
}

/** A size and strides along the height of pictures one step wide. */
const wide = (own: string, absent: number | string) =>
  stated(own, (options, option, before) => {
    const size = typeof absent === 'string' ? (before[absent] as readonly [number, number])[1] : absent
    return [1, options.axis(option, size)]
  })

/** Classes in a `TimeDistributed`, over the windows of each step: pictures one step wide. */
export const NESTED: ReadonlyMap<string, KerasClass> = new Map(
  Object.entries<KerasClass>({
    Conv1D: {
      pictures: true,
      options: {
        ...OVER_PICTURES,
        kernel_size: wide('kernelSize', 1),
        strides: wide('strides', 1),
        dilation_rate: only([1], 1),
        groups: only(1),
      },
      weights: [{ name: 'kernel', shape: ([, ...kernel]) => kernel }, BIAS],
      plan: overPictures,
    },
    MaxPooling1D: {
      pictures: true,
      options: {
        data_format: CHANNELS_LAST,
        pool_size: wide('poolSize', 2),
        strides: wide('strides', 'poolSize'),
        padding: VALID_OR_SAME,
      },
      plan: maxOverPictures,
    },
    GlobalMaxPooling1D: {
      pictures: true,
      options: { keepdims: only(false), data_format: CHANNELS_LAST },
      plan(at) {
        const whole = [1, at.input.height as number]
        return { ...maxOverPictures(at, { poolSize: whole, strides: whole, padding: 'valid' }), height: undefined }
      },
    },
  }),
)

/** Rows of the input, which must be pictures. */
function heightOf({ options, input: { height } }: LayerAt): number {
  if (height === undefined) throw options.refused('its input must be pictures [time,height,channels]')
  return height
}

/** The largest numbers of windows of pictures. */
function maxOverPictures(at: LayerAt, own: OwnOptions): PlannedLayer {
  const height = heightOf(at)
  const { poolSize, strides, padding } = own as Readonly<Record<string, never>>
  return {
    layers: [maxPool2d({ height, poolSize, strides, padding, ...at.name })],
    height: windowCount(height, poolSize[1], strides[1], padding),
  }
}

/** A convolution over the rows of pictures, or of the windows of each step. */
function overPictures(at: LayerAt, own: OwnOptions): PlannedLayer {
  const { options, behind, name } = at
  const height = heightOf(at)
  const { filters, kernelSize, strides, padding, activation } = own as Readonly<Record<string, never>>
  if (activation === 'softmax') throw options.wrong('activation', 'one of elements')
  return {
    height: windowCount(height, kernelSize[1], strides[1], padding),
    layers: [conv2d({ filters, height, kernelSize, strides, padding, activation, ...name }), ...behind],
  }
}
