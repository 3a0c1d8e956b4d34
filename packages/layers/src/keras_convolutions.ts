import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { conv1d, conv2d } from './convolution.js'
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
import { maxPool2d } from './max_pooling.js'
import { windowCount } from './windows.js'

/** Taps of a kernel of groups, as one kernel of all channels with zeros between and beside them: [K',C,F]. */
function wholeKernel(
  { data, shape }: Tensor<FloatArray>,
  { size, channels, filters, groups, dilation }: KernelSizes,
): Tensor<FloatArray> {
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

const PADDINGS = ['valid', 'same', 'causal'] as const

/** The common part of the convolutions over time. */
function alongTime({ options, input, name }: LayerAt) {
  options.only({ data_format: ['channels_last'] })
  const [size, strides, dilation] = ['kernel_size', 'strides', 'dilation_rate'].map((each) => options.axis(each)) as [
    number,
    number,
    number,
  ]
  const padding = options.choice('padding', PADDINGS, 'valid')
  const channels = columnsOf(options, input)
  const { fused, behind } = activationOf(options)
  const hasBias = options.flag('use_bias', true)
  const kernelSize = (size - 1) * dilation + 1
  const planned = (
    filters: number,
    variables: readonly KerasVariable[],
    kernelOf: (stored: readonly Tensor<FloatArray>[]) => Tensor<FloatArray>,
  ): PlannedLayer => ({
    output: stepsUnder(input, { isSequence: true, features: filters }, kernelSize, strides, padding),
    layers: [conv1d({ filters, kernelSize, strides, padding, activation: fused, ...name }), ...behind],
    variables: hasBias ? [...variables, ['bias', [filters]]] : variables,
    values: (stored) => [
      kernelOf(stored),
      hasBias ? (stored.at(-1) as Tensor<FloatArray>) : { data: new Float32Array(filters), shape: [filters] },
    ],
  })
  return { size, dilation, channels, planned }
}

/** The number of steps after a layer of windows, if it is known. */
export function stepsUnder(
  { time }: KerasSignal,
  output: KerasSignal,
  size: number,
  strides: number,
  padding: (typeof PADDINGS)[number],
): KerasSignal {
  return { ...output, time: time && windowCount(time, size, strides, padding) }
}

/** Keras' convolutions, as one: a dilated, grouped or separable kernel is a whole one with zeros. */
export const CONVOLUTIONS = {
  Conv1D: {
    plan(at: LayerAt) {
      const { size, dilation, channels, planned } = alongTime(at)
      const filters = at.options.count('filters')
      const groups = at.options.value('groups') == null ? 1 : at.options.count('groups')
      if (channels % groups !== 0 || filters % groups !== 0)
        throw at.options.wrong('groups', 'a divisor of both numbers of channels')
      const sizes = { size, channels, filters, groups, dilation }
      return planned(filters, [['kernel', [size, channels / groups, filters]]], ([kernel]) =>
        wholeKernel(kernel as Tensor<FloatArray>, sizes),
      )
    },
  },
  DepthwiseConv1D: {
    plan(at: LayerAt) {
      const { size, dilation, channels, planned } = alongTime(at)
      const multiplier = multiplierOf(at.options)
      const filters = channels * multiplier
      const sizes = { size, channels, filters, groups: channels, dilation }
      return planned(
        filters,
        [
          [
            ['depthwise_kernel', 'kernel'],
            [size, channels, multiplier],
          ],
        ],
        ([kernel]) => wholeKernel(kernel as Tensor<FloatArray>, sizes),
      )
    },
  },
  SeparableConv1D: {
    plan(at: LayerAt) {
      const { size, dilation, channels, planned } = alongTime(at)
      const multiplier = multiplierOf(at.options)
      const filters = at.options.count('filters')
      const inner = channels * multiplier
      const variables: KerasVariable[] = [
        ['depthwise_kernel', [size, channels, multiplier]],
        ['pointwise_kernel', [1, inner, filters]],
      ]
      return planned(filters, variables, ([depthwise, pointwise]) => {
        const [taps, columns] = [depthwise, pointwise].map((each) => (each as Tensor<FloatArray>).data) as [
          FloatArray,
          FloatArray,
        ]
        const product = new Float64Array(size * channels * filters)
        for (const [k, tap] of taps.entries()) {
          const [row, column] = [Math.floor(k / multiplier), k % inner]
          for (let f = 0; f < filters; f++)
            product[row * filters + f] += tap * (columns[column * filters + f] as number)
        }
        const kernel = { data: product, shape: [size, channels, filters] }
        return wholeKernel(kernel, { size, channels, filters, groups: 1, dilation })
      })
    },
  },
  Conv2D: {
    pictures: true,
    plan({ options, input, name }: LayerAt) {
      const { height } = input
      if (height === undefined) throw options.refused('its input must be pictures [time,height,channels]')
      options.only({ data_format: ['channels_last'], dilation_rate: [[1, 1], 1], groups: [1] })
      return overPictures(options, input, name, options.pair('kernel_size', [1, 1]), options.pair('strides', [1, 1]))
    },
  },
}

/** Layers in a `TimeDistributed`, over the windows of each step: pictures one step wide. */
export const NESTED: ReadonlyMap<string, KerasRow> = new Map(
  Object.entries<KerasRow>({
    Conv1D: {
      pictures: true,
      plan({ options, input, name }) {
        options.only({ data_format: ['channels_last'], dilation_rate: [[1], 1], groups: [1] })
        const [size, strides] = [options.axis('kernel_size'), options.axis('strides')]
        return overPictures(options, input, name, [1, size], [1, strides], (channels, filters) => [
          size,
          channels,
          filters,
        ])
      },
    },
    MaxPooling1D: {
      pictures: true,
      plan({ options, input, name }) {
        options.only({ data_format: ['channels_last'] })
        const size = options.axis('pool_size', 2)
        const padding = options.choice('padding', ['valid', 'same'], 'valid')
        return maxOverPictures(input, name, {
          poolSize: [1, size],
          strides: [1, options.axis('strides', size)],
          padding,
        })
      },
    },
    GlobalMaxPooling1D: {
      pictures: true,
      plan({ options, input, name }) {
        options.only({ keepdims: [false], data_format: ['channels_last'] })
        const whole = [1, input.height as number] as const
        const { output, layers } = maxOverPictures(input, name, { poolSize: whole, strides: whole, padding: 'valid' })
        return { output: { ...output, height: undefined }, layers }
      },
    },
  }),
)

interface PictureWindows {
  readonly poolSize: readonly [number, number]
  readonly strides: readonly [number, number]
  readonly padding: 'valid' | 'same'
}

/** The largest numbers of windows of pictures. */
export function maxOverPictures(
  input: KerasSignal,
  name: LayerAt['name'],
  { poolSize, strides, padding }: PictureWindows,
): PlannedLayer {
  const height = input.height as number
  const rows = windowCount(height, poolSize[1], strides[1], padding)
  const output = { isSequence: true, features: ((input.features as number) / height) * rows, height: rows }
  return {
    output: stepsUnder(input, output, poolSize[0], strides[0], padding),
    layers: [maxPool2d({ height, poolSize, strides, padding, ...name })],
  }
}

/** A convolution over the rows of pictures, or of the windows of each step. */
function overPictures(
  options: KerasOptions,
  input: KerasSignal,
  name: LayerAt['name'],
  kernelSize: readonly [number, number],
  strides: readonly [number, number],
  storedShape: (channels: number, filters: number) => readonly number[] = (channels, filters) => [
    ...kernelSize,
    channels,
    filters,
  ],
): PlannedLayer {
  const height = input.height as number
  const filters = options.count('filters')
  const channels = (input.features as number) / height
  const padding = options.choice('padding', ['valid', 'same'], 'valid')
  const { fused, behind } = activationOf(options)
  const hasBias = options.flag('use_bias', true)
  const rows = windowCount(height, kernelSize[1], strides[1], padding)
  const kernel: KerasVariable = ['kernel', storedShape(channels, filters)]
  if (fused === 'softmax') throw options.wrong('activation', 'one of elements')
  return {
    output: {
      ...stepsUnder(input, { isSequence: true, features: rows * filters }, kernelSize[0], strides[0], padding),
      height: rows,
    },
    layers: [conv2d({ filters, height, kernelSize, strides, padding, activation: fused, ...name }), ...behind],
    variables: hasBias ? [kernel, ['bias', [filters]]] : [kernel],
    values: ([{ data } = { data: new Float32Array(0) }, bias]) => [
      { data, shape: [...kernelSize, channels, filters] },
      bias ?? { data: new Float32Array(filters), shape: [filters] },
    ],
  }
}

function multiplierOf(options: KerasOptions): number {
  return options.value('depth_multiplier') == null ? 1 : options.count('depth_multiplier')
}
