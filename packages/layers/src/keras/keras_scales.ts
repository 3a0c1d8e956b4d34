// Keras' layers that scale columns.
import { columnFactors, diagonal } from '../kinds/column_factors.js'
import { columnScale } from '../kinds/column_layers.js'
import { dense } from '../kinds/dense.js'
import type { Layer } from '../layer.js'
import { featuresOf } from '../signal.js'
import type { KerasLayer } from './keras_layers.js'
import {
  columnsOf,
  type Floats,
  filled,
  type KerasOption,
  type LayerAt,
  lastAxis,
  type PlannedLayer,
  SCALE_AND_CENTER,
  stated,
  stepsOf,
  weightsOf,
} from './keras_row.js'

export const NORMALIZED_AXIS = lastAxis('it must normalize the last axis')

/** Keras 2 bounds the length of a vector that is divided by it at 1e-6, Keras 3 at the 1e-12 that is the default here. */
export const UNIT_AXIS: KerasOption = {
  ...NORMALIZED_AXIS,
  read: (at, ...given) => {
    const { major = 3 } = at.options
    return { ...NORMALIZED_AXIS.read(at, ...given), ...(major < 3 && { epsilon: 1e-6 }) }
  },
}

export const SHARED_AXES: KerasOption = {
  own: 'steps',
  read: ({ options, input }, option) => {
    const shared = options.value(option)
    const isShared = String(shared ?? '') === '1'
    if (shared != null && !(isShared && input.isSequence))
      throw options.wrong(option, input.isSequence ? '[1] or null' : 'null')
    return input.isSequence && !isShared ? { steps: stepsOf(options, input) } : {}
  },
  write: ({ steps }, { input }) => (input.isSequence && steps === undefined ? [1] : null),
}

/** The last axis, or none: one scale of all numbers. */
export const ONE_SCALE: KerasOption = {
  read: (at, option) => {
    const axes = [at.options.value(option)].flat().filter((axis) => axis !== null)
    if (axes.length > 0) NORMALIZED_AXIS.read(at, option, {})
    return { isOne: axes.length === 0 }
  },
}

export const INVERT = stated('isInverted', (options, option) => options.flag(option, false))

/** Fixed means and variances of columns, or of all numbers, which are in the file unless they are options. */
export function standardized(at: LayerAt, { isOne, isInverted }: Readonly<Record<string, unknown>>): PlannedLayer {
  const { options, input, name } = at
  const features = (input.features ?? columnsOf(options, input)) / (input.height ?? 1)
  const size = isOne === true ? 1 : features
  const given = (['mean', 'variance'] as const).map((option) => {
    const numbers = [options.value(option) ?? []].flat(8)
    if (numbers.length === 0) return undefined
    if (numbers.length === size && numbers.every((each) => Number.isFinite(each)))
      return Float64Array.from(numbers as number[])
    throw options.wrong(option, `${size} numbers`)
  })
  const shape = isOne === true ? [] : [size]
  const isStored = given[0] === undefined
  if (isStored !== (given[1] === undefined)) throw options.refused('it must have both mean and variance, or none')
  return {
    layers: [columnScale({ channels: features, ...name })],
    stored: isStored
      ? [
          ['mean', shape],
          ['variance', shape],
        ]
      : [],
    values: (stored) => {
      const [mean, variance] = given.map((own, k) => {
        const data = own ?? (stored[k] as Floats).data
        return Float64Array.from({ length: features }, (_, column) => data[size === 1 ? 0 : column])
      }) as [Float64Array, Float64Array]
      const deviations = variance.map((each) => Math.max(Math.sqrt(each), 1e-7))
      const factors = isInverted === true ? deviations : deviations.map((each) => 1 / each)
      const offsets = isInverted === true ? mean : mean.map((each, k) => -each * factors[k])
      return [factors, offsets].map((data) => ({ data, shape: [features] }))
    },
  }
}

/** The inference of a batch normalization: a factor and an offset for each column, or for each channel of pictures. */
export function normalized(at: LayerAt, { epsilon }: Readonly<Record<string, unknown>>): PlannedLayer {
  const { options, input, name } = at
  const isPicture = input.height !== undefined
  const features = isPicture ? (input.features as number) / (input.height as number) : columnsOf(options, input)
  const [shape, own] = [[features], weightsOf(SCALE_AND_CENTER, [[features], [features]], at)]
  return {
    layers: [isPicture ? columnScale({ channels: features, ...name }) : dense({ units: features, ...name })],
    stored: [...own.stored, ['moving_mean', shape], ['moving_variance', shape]],
    values: (stored) => {
      const [mean, variance] = stored.slice(own.stored.length)
      const [gamma, beta] = own.values(stored)
      const { factors, offsets } = columnFactors({ mean, variance, gamma, beta }, features, epsilon as number)
      return [isPicture ? { data: factors, shape } : diagonal([factors]), { data: offsets, shape }]
    },
  }
}

/** Below 0 slope·x: a slope of each column, as Keras has other ones from 0 on alone. */
export function slopes({ input }: Layer, slope: number): KerasLayer {
  const shape = [...(input.isSequence ? [1] : []), featuresOf(input)]
  const config = { shared_axes: input.isSequence ? [1] : null }
  return { className: 'PReLU', config, variables: { 'vars/0': { data: filled(shape, slope), shape } } }
}

/** The root of mean squares, without a factor of its columns. */
export function rms({ input }: Layer, epsilon: unknown, scale?: Floats): KerasLayer {
  const shape = [featuresOf(input)]
  const variables = { 'vars/0': scale ?? { data: filled(shape, 1), shape } }
  return { className: 'RMSNormalization', config: { axis: -1, epsilon: epsilon ?? 1e-7 }, variables }
}
