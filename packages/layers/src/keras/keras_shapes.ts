// Keras' layers over axes: pooling, forms, products.
import { elementCount } from '@cudnn-rnn/canonical'
import { rearrange } from '../kinds/rearrange.js'
import type { LayerDefinition } from '../layer.js'
import { kept } from './keras_operations.js'
import {
  axis,
  CHANNELS_LAST,
  choice,
  columnsOf,
  ignoring,
  type KerasClass,
  type KerasOption,
  type KerasSignal,
  type LayerAt,
  type PlannedLayer,
  stated,
  stepsOf,
} from './keras_row.js'

/** Options of windows of time. Keras' strides of None are the size of the pool. */
export const POOLING_1D = {
  data_format: CHANNELS_LAST,
  pool_size: axis('poolSize', 2),
  strides: axis('strides', 'poolSize'),
  padding: choice('padding', ['valid', 'same']),
}
/** Over the steps, or where the channels come first over the columns. */
export const pooled = (pool: (options: LayerAt['name']) => LayerDefinition, mask: 'uses' | 'ends'): KerasClass => ({
  mask,
  options: ignoring('keepdims', 'data_format'),
  plan: (at) => {
    const format = at.options.choice('data_format', ['channels_last', 'channels_first'], 'channels_last')
    const { layers } = format === 'channels_first' ? permuted({ ...at, name: {} }, { dims: '2,1' }) : { layers: [] }
    return { layers: kept(at, [...layers, pool(at.name)]) }
  },
})
/** The axis of each operand, of which a vector has the columns alone. */
export const AXES: KerasOption = {
  own: 'over, steps',
  read: ({ options, input, others: [other = input] }, option) => {
    const given = [options.value(option)].flat()
    const over = [input, other].map((signal, k) => {
      const axis = given[k] ?? given[0]
      const rank = signal.isSequence ? 3 : 2
      columnsOf(options, signal)
      if (given.length > 2 || (axis !== 1 && axis !== rank - 1 && axis !== -1))
        throw options.wrong(option, '1, 2 or -1, or two of these')
      return axis === 1 && signal.isSequence ? 'steps' : 'columns'
    })
    return { over }
  },
  write: ({ over }, { input, others: [other = input] }) => {
    return [input, other].map(({ isSequence }, k) => (isSequence && (over as string[])[k] === 'columns' ? 2 : 1))
  },
}

export const NORMALIZE: KerasOption = {
  ...stated('isNormalized', (options, option) => options.flag(option, false)),
  write: ({ isNormalized = false }) => isNormalized,
}

export function permuted({ options, input, name }: LayerAt, { dims }: Readonly<Record<string, unknown>>): PlannedLayer {
  if (dims === (input.isSequence ? '1,2' : '1')) return { layers: [] }
  const columns = columnsOf(options, input)
  if (dims !== '2,1' || !input.isSequence) throw options.wrong('dims', '[2, 1]')
  const time = stepsOf(options, input)
  return { layers: [rearrange({ from: [time, columns], to: [columns, time], transposed: true, ...name })] }
}

/** The numbers of each row in another form, of which one size may be -1. */
export function rearranged({ options, input, name }: LayerAt, given: readonly number[]): PlannedLayer {
  const { features, height } = input
  if (features === null) throw options.refused('its input must be numbers, not class ids')
  const known = elementCount(given.filter((size) => size !== -1))
  const [, ...inner] = given
  const width = elementCount(inner)
  // Any number of steps, in rows of another size.
  if (input.isSequence && input.time === undefined && given[0] === -1 && inner.length > 0 && width > 0) {
    const open = { from: [0, features], to: [0, width], ...name }
    if (width !== features && given.length < 5) return { layers: [rearrange(open)], ...pictureOf(inner) }
  }
  // A form whose columns stay has as many steps, and one without -1 states how many there are.
  const isOfSteps = input.isSequence && given[0] === -1 && inner.length > 0 && width === features
  const time = input.time ?? (known === elementCount(given) && known % features === 0 ? known / features : undefined)
  const from = input.isSequence
    ? [isOfSteps ? (time ?? 1) : stepsOf(options, { ...input, time }), features]
    : [features]
  const all = elementCount(from)
  const form = given.map((size) => (size === -1 ? all / known : size))
  const isForm = form.every((size) => Number.isSafeInteger(size) && size >= 1) && elementCount(form) === all
  if (!isForm || form.length > 4)
    throw options.refused(`its shape must be one of ${all} numbers in 1..4 dimensions: current shape is [${given}]`)
  const [first, ...rest] = form as [number, ...number[]]
  const to = rest.length === 0 ? [first] : [first, elementCount(rest)]
  const isKnown = isOfSteps || !input.isSequence || input.time !== undefined
  const isSame =
    isKnown && String(to) === String(from) && (rest.length !== 2 || height === undefined || height === rest[0])
  const layers = isSame ? [] : [rearrange({ from, to, ...name })]
  return { layers, ...pictureOf(rest) }
}

/** The form of steps that are rows of columns, or pictures. */
export function pictureOf([height, width, ...channels]: readonly number[]): Pick<KerasSignal, 'height' | 'each'> {
  if (width === undefined) return { height: undefined }
  const [C] = channels
  return {
    height,
    ...(C !== undefined && { each: { isSequence: true, features: width * C, time: height, height: width } }),
  }
}
