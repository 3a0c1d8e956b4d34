import { conv1d, conv2d } from '../kinds/convolution.js'
import type { maxPool2d } from '../kinds/max_pooling.js'
import { type averagePool2d, spreadLength, spreadRows, spreadSteps } from '../kinds/step_windows.js'
import { timeDistributed } from '../kinds/time_distributed.js'
import { windowCount } from '../kinds/windows.js'
import type { LayerDefinition } from '../layer.js'
import {
  ACTIVATION,
  axis,
  CHANNELS_LAST,
  choice,
  columnsOf,
  count,
  extent,
  type Floats,
  filled,
  ignoring,
  KERNEL_AND_BIAS,
  type KerasClass,
  type KerasVariable,
  type LayerAt,
  only,
  stated,
} from './keras_row.js'

interface KernelSizes {
  /** Taps and the steps between them, along time and height. */
  readonly size: readonly number[]
  readonly dilation: readonly number[]
  readonly channels: number
  readonly filters: number
  readonly groups: number
}

/** Taps of a kernel of groups, as one kernel of all channels with zeros between and beside them: [...size,C,F]. */
export function wholeKernel({ data }: Floats, { size, channels, filters, groups, dilation }: KernelSizes): Floats {
  const [time, height] = wholeSize(size, dilation)
  const whole = [time, height, channels, filters]
  if (groups === 1 && time * height === size[0] * size[1]) return { data, shape: whole }
  const all = new Float64Array(time * height * channels * filters)
  const [own, ofGroup] = [channels / groups, filters / groups]
  for (let k = 0; k < data.length; k++) {
    const [filter, channel, tap] = [k % filters, Math.floor(k / filters) % own, Math.floor(k / (filters * own))]
    const from = Math.floor(filter / ofGroup) * own + channel
    const [step, row] = [Math.floor(tap / size[1]) * dilation[0], (tap % size[1]) * dilation[1]]
    all[((step * height + row) * channels + from) * filters + filter] = data[k] as number
  }
  return { data: all, shape: whole }
}

const wholeSize = (size: readonly number[], dilation: readonly number[]) =>
  size.map((taps, k) => (taps - 1) * dilation[k] + 1) as [number, number]

/** Options along time; `dilation` is a part of the kernel here. */
const ALONG_TIME = {
  data_format: CHANNELS_LAST,
  kernel_size: axis('kernelSize'),
  strides: axis('strides'),
  dilation_rate: axis('dilation'),
  padding: choice('padding', ['valid', 'same', 'causal']),
  activation: ACTIVATION,
}

const OVER_PICTURES = {
  ...ALONG_TIME,
  kernel_size: extent('kernelSize', 1),
  strides: extent('strides', 1),
  dilation_rate: extent('dilation', 1),
  padding: choice('padding', ['valid', 'same']),
}

const orOne = (own: string) =>
  stated(own, (options, option) => (options.value(option) == null ? 1 : options.count(option)))

/** The kernels of a class in files, for the sizes of its windows as files have them. */
type KernelsOf = (
  at: LayerAt,
  own: Readonly<Record<string, number>>,
  channels: number,
  size: readonly number[],
) => readonly [filters: number, groups: number, ...stored: readonly KerasVariable[]]

const WHOLE: KernelsOf = ({ options }, { filters, groups }, channels, size) => {
  if (channels % groups !== 0 || filters % groups !== 0)
    throw options.wrong('groups', 'a divisor of both numbers of channels')
  return [filters, groups, ['kernel', [...size, channels / groups, filters]]]
}
const DEPTHWISE: KernelsOf = (_, { multiplier }, channels, size) => {
  return [
    channels * multiplier,
    channels,
    [
      ['depthwise_kernel', 'kernel'],
      [...size, channels, multiplier],
    ],
  ]
}
const SEPARABLE: KernelsOf = (_, { filters, multiplier }, channels, size) => [
  ...([filters, 1] as const),
  ['depthwise_kernel', [...size, channels, multiplier]],
  ['pointwise_kernel', [...size.map(() => 1), channels * multiplier, filters]],
]
const TRANSPOSED: KernelsOf = (_, { filters }, channels, size) => [filters, 1, ['kernel', [...size, filters, channels]]]

/** The kernel of a separable convolution: the product of its two kernels. */
function separable([depthwise, pointwise]: readonly Floats[]): Floats {
  const [channels, multiplier] = depthwise.shape.slice(-2) as [number, number]
  const filters = pointwise.shape.at(-1) as number
  const product = new Float64Array((depthwise.data.length / multiplier) * filters)
  for (const [k, tap] of depthwise.data.entries()) {
    const [row, column] = [Math.floor(k / multiplier), k % (channels * multiplier)]
    for (let f = 0; f < filters; f++) product[row * filters + f] += tap * pointwise.data[column * filters + f]
  }
  return { data: product, shape: [...depthwise.shape.slice(0, -2), channels, filters] }
}

/** The kernel [...size,F,C] of a convolution's gradient, which is a convolution too: its taps from the last to the first. */
function turned([{ data, shape }]: readonly Floats[]): Floats {
  const [filters, channels] = shape.slice(-2) as [number, number]
  const own = filters * channels
  const last = data.length / own - 1
  const all = Float64Array.from(data, (_, k) => {
    const [tap, channel, filter] = [Math.floor(k / own), Math.floor((k % own) / filters), k % filters]
    return data[(last - tap) * own + filter * channels + channel] as number
  })
  return { data: all, shape: [...shape.slice(0, -2), channels, filters] }
}

const pairOf = (value: unknown) => [value, 1].flat().slice(0, 2) as [number, number]

/** A convolution along time or over pictures, whose kernel is made of the file's. */
const convolved =
  (kernelsOf: KernelsOf, kernelOf = ([kernel]: readonly Floats[]): Floats => kernel): NonNullable<KerasClass['plan']> =>
  (at, own) => {
    const { options, input, name, behind } = at
    const { activation, padding } = own as Readonly<Record<string, never>>
    const isAlongTime = typeof own['kernelSize'] === 'number'
    const height = isAlongTime ? 1 : heightOf(at)
    const channels = columnsOf(options, { ...input, height: undefined }) / height
    const [size, strides, dilation] = ['kernelSize', 'strides', 'dilation'].map((each) => pairOf(own[each]))
    const ofFile = isAlongTime ? size.slice(0, 1) : size
    const [filters, groups, ...kernels] = kernelsOf(at, own as Readonly<Record<string, number>>, channels, ofFile)
    const hasBias = options.flag('use_bias', true)
    const [taps, rows] = wholeSize(size, dilation)
    const isTurned = kernelsOf === TRANSPOSED
    const spread = isTurned ? spreadBefore(height, [taps, rows], strides, padding) : { layers: [], height }
    const windows = isTurned ? { strides: [1, 1], padding: 'valid' } : { strides, padding }
    const common = { filters, activation, padding: windows.padding as never, ...name }
    const made = isAlongTime
      ? conv1d({ ...common, kernelSize: taps, strides: windows.strides[0] })
      : conv2d({ ...common, height: spread.height, kernelSize: [taps, rows], strides: pairOf(windows.strides) })
    const after = windowCount(spread.height, rows, windows.strides[1], windows.padding as never)
    const isOfRows = after > 1 && options.value('activation') === 'log_softmax'
    const activated = isOfRows ? behind.map((each) => timeDistributed(each, { height: after })) : behind
    return {
      height: isAlongTime ? undefined : after,
      layers: [...spread.layers, made, ...activated],
      stored: hasBias ? [...kernels, ['bias', [filters]]] : kernels,
      values: (stored) => {
        const whole = wholeKernel(kernelOf(stored), { size, channels, filters, groups, dilation })
        return [
          isAlongTime ? { ...whole, shape: [taps, channels, filters] } : whole,
          hasBias ? (stored.at(-1) as Floats) : { data: filled([filters], 0), shape: [filters] },
        ]
      },
    }
  }

/**
 * The input of a convolution that is the gradient of one of `strides`: its steps and rows with zeros between and beside them.
 *
 * @param taps of the kernel, along time and height
 */
function spreadBefore(height: number, taps: readonly number[], strides: readonly number[], padding: unknown) {
  const [steps, rows] = taps.map((size, k) => {
    const cut = padding === 'same' ? Math.floor(Math.max(0, size - strides[k]) / 2) : 0
    const after = padding === 'same' ? cut : Math.max(0, size - strides[k])
    return { repeats: strides[k], isSpaced: true, zerosBefore: size - 1 - cut, zerosAfter: after }
  }) as [Spread, Spread]
  const isPicture = taps[1] > 1 || strides[1] > 1
  return {
    layers: [spreadSteps(steps), ...(isPicture ? [spreadRows({ height, ...rows })] : [])],
    height: spreadLength(rows, height),
  }
}

type Spread = Readonly<Record<'repeats' | 'zerosBefore' | 'zerosAfter', number>> & { readonly isSpaced: boolean }

const FILTERS = { filters: count('filters') }
const GROUPS = { groups: orOne('groups') }
const MULTIPLIER = { depth_multiplier: orOne('multiplier') }
const NO_OUTPUT_PADDING = { output_padding: only(null), groups: only(1) }

/** Keras' convolutions, as one: a dilated, grouped or separable kernel is a whole one with zeros. */
function convolutions(rank: '1D' | '2D', along: NonNullable<KerasClass['options']>, row: KerasClass) {
  const read = { ...row, isRead: true }
  const classOf = (options: KerasClass['options'], plan: NonNullable<KerasClass['plan']>) => ({
    options: { ...along, ...options },
    plan,
  })
  return {
    [`Conv${rank}`]: { ...row, ...classOf({ ...FILTERS, ...GROUPS }, convolved(WHOLE)), weights: KERNEL_AND_BIAS },
    [`DepthwiseConv${rank}`]: { ...read, ...classOf(MULTIPLIER, convolved(DEPTHWISE)) },
    [`SeparableConv${rank}`]: { ...read, ...classOf({ ...FILTERS, ...MULTIPLIER }, convolved(SEPARABLE, separable)) },
    [`Conv${rank}Transpose`]: {
      ...read,
      ...classOf({ ...FILTERS, ...NO_OUTPUT_PADDING }, convolved(TRANSPOSED, turned)),
    },
  } satisfies Readonly<Record<string, KerasClass>>
}

export const CONVOLUTIONS = convolutions('1D', ALONG_TIME, {})
export const CONVOLUTIONS_2D = convolutions('2D', OVER_PICTURES, { pictures: true })

type Pool = typeof maxPool2d | typeof averagePool2d

const pooledPictures =
  (pool: Pool): NonNullable<KerasClass['plan']> =>
  (at, own) => {
    const height = heightOf(at)
    const { poolSize, strides, padding } = own as Readonly<Record<string, never>>
    return {
      layers: [pool({ height, poolSize, strides, padding, ...at.name })],
      height: windowCount(height, poolSize[1], strides[1], padding),
    }
  }

export const pooling2D = (pool: Pool): KerasClass => ({
  pictures: true,
  options: {
    data_format: CHANNELS_LAST,
    pool_size: extent('poolSize', 2),
    strides: extent('strides', 'poolSize'),
    padding: choice('padding', ['valid', 'same']),
  },
  plan: pooledPictures(pool),
})

/** All rows of each step, and then the steps of a picture; none for windows. */
export const pooledWhole = (
  pool: Pool,
  overTime?: (options: LayerAt['name']) => LayerDefinition,
): KerasClass & { readonly isRead: true } => ({
  pictures: true,
  isRead: true,
  options: { keepdims: only(false), data_format: CHANNELS_LAST },
  plan: (at) => ({
    layers: [...overRows(pool, at).layers, ...(overTime ? [overTime({})] : [])],
    height: undefined,
  }),
})

/** One number for each channel, the same in all rows. */
export function overRows(pool: Pool, at: LayerAt) {
  const whole = [1, heightOf(at)]
  return pooledPictures(pool)(at, { poolSize: whole, strides: whole, padding: 'valid' })
}

/**
 * Steps and rows between zeros, without the first and last ones, or repeated.
 *
 * @param option of Keras: one number, one of each axis, or two of each, which are these options here
 */
export const spreadPictures = (option: string, own: readonly string[], absent: number, minimum = 0): KerasClass => ({
  pictures: true,
  isRead: true,
  options: { data_format: CHANNELS_LAST, interpolation: only('nearest'), ...ignoring(option) },
  plan: (at) => {
    const { options, name } = at
    const height = heightOf(at)
    const given = [options.value(option) ?? absent].flat(1)
    const axes = (given.length === 1 ? [given[0], given[0]] : given).map((each) => [each].flat())
    const isCount = (size: unknown) => Number.isSafeInteger(size) && (size as number) >= minimum
    if (axes.length !== 2 || !axes.every((sizes) => sizes.length <= own.length && sizes.every(isCount)))
      throw options.wrong(option, `integers >= ${minimum}: one, or as many as sides, of each of two axes`)
    const [steps, rows] = axes.map((sizes) => {
      return Object.fromEntries(own.map((name, k) => [name, (sizes[k] ?? sizes[0]) as number]))
    })
    const { croppedBefore = 0, croppedAfter = 0 } = rows
    const kept = height - croppedBefore - croppedAfter
    if (kept < 1) throw options.wrong(option, `less than its ${height} rows`)
    return {
      layers: [spreadSteps({ ...steps, ...name }), spreadRows({ height, ...rows })],
      height: spreadLength(rows, height),
    }
  },
})

export function heightOf({ options, input: { height } }: LayerAt): number {
  if (height === undefined) throw options.refused('its input must be pictures [time,height,channels]')
  return height
}
