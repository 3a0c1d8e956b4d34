// Keras' layers over axes: pooling, forms, products.
import { elementCount } from '@cudnn-rnn/canonical'
import { rearrange } from '../kinds/rearrange.js'
import type { KerasOptions } from './keras_options.js'
import { joinColumns, joinSteps } from '../kinds/join_steps.js'
import type { LayerDefinition } from '../layer.js'
import { kept, operation } from './keras_operations.js'
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
      const place = axis === -2 && rank === 3 ? 1 : axis
      if (given.length > 2 || (place !== 1 && place !== rank - 1 && place !== -1))
        throw options.wrong(option, '1, 2 or -1, or two of these')
      return place === 1 && signal.isSequence ? 'steps' : 'columns'
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

/** The axes of each row in another order. */
export function permuted(at: LayerAt, { dims }: Readonly<Record<string, unknown>>): PlannedLayer {
  const { options, input, name } = at
  const form = formOf(at)
  const order = String(dims).split(',').map(Number)
  if (order.toSorted().join() !== form.map((_, k) => k + 1).join())
    throw options.wrong('dims', `the axes 1 to ${form.length} in another order`)
  if (order.every((axis, k) => axis === k + 1)) return { layers: [], ...input }
  const [steps, ...inner] = form as [number, ...number[]]
  // Axes within steps may change in any number of these.
  const time = order[0] === 1 && input.time === undefined ? 0 : stepsOf(options, input)
  const [first, ...rest] = order.map((axis) => (axis === 1 ? time : form[axis - 1])) as [number, ...number[]]
  const layer = rearrange({ from: [time, ...inner], to: [first, elementCount(rest)], order, ...name })
  return { layers: [layer], ...(steps === first && { time: input.time }), ...pictureOf(rest) }
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

/** Values behind each other along an axis: of time, or of the steps' pictures or columns. */
export function concatenated(at: LayerAt): PlannedLayer {
  const { options, input, others, name } = at
  const forms = [input, ...others].map((each) => formOf({ ...at, input: each }))
  const [form] = forms as [number[]]
  const axis = options.value('axis') ?? -1
  const place = typeof axis === 'number' ? (axis < 0 ? form.length + axis : axis - 1) : -1
  if (form[place] === undefined) throw options.wrong('axis', `-1 or in 1..${form.length}`)
  const isFit = (each: readonly number[]) =>
    each.length === form.length && each.every((size, k) => k === place || k === 0 || size === form[k])
  if ([input, ...others].some(({ isSequence }) => !isSequence) || !forms.every(isFit))
    throw options.refused('all of its inputs must be sequences of one form beside its axis')
  const sums = forms.reduce((sum, each) => (each[place] < 0 || sum < 0 ? -1 : sum + each[place]), 0)
  const [, ...inner] = form.with(place, sums)
  if (place === 0) return { layers: [joinSteps(name)], time: sums < 0 ? undefined : sums, ...pictureOf(inner) }
  return { layers: [joinColumns({ rows: elementCount(form.slice(1, place)), ...name })], ...pictureOf(inner) }
}

/** Sizes of an input behind the batch, -1 of an unknown number of steps. */
function formOf({ options, input }: LayerAt): number[] {
  const { isSequence, features, time = -1, height, each } = input
  if (features === null) return [columnsOf(options, input)]
  const [rows, columns] = each === undefined ? [height, 1] : [each.time as number, each.height as number]
  const last = features / ((rows ?? 1) * columns)
  return [
    ...(isSequence ? [time] : []),
    ...(rows === undefined ? [] : [rows]),
    ...(each === undefined ? [] : [columns]),
    last,
  ]
}

/** A change of form by axes, which count from the batch. */
const changed = (change: (form: number[], axis: number, options: KerasOptions) => readonly number[]): KerasClass =>
  operation({
    pictures: true,
    options: ignoring('axis'),
    plan: (at) => {
      const form = formOf(at)
      const [axis, ...more] = [at.options.value('axis')].flat()
      if (!Number.isSafeInteger(axis) || more.length > 0) throw at.options.wrong('axis', 'one integer')
      return rearranged(at, change(form, axis as number, at.options))
    },
  })

export const EXPAND_DIMS = changed((form, axis, options) => {
  const place = axis < 0 ? form.length + 1 + axis : axis - 1
  if (place < 0 || place > form.length) throw options.wrong('axis', `-1 or in 1..${form.length + 1}`)
  return form.toSpliced(place, 0, 1)
})

export const SQUEEZE = changed((form, axis, options) => {
  const place = axis < 0 ? form.length + axis : axis - 1
  if (form[place] !== 1 || form.length < 2) throw options.wrong('axis', 'one of size 1')
  return form.toSpliced(place, 1)
})

/** The form of steps that are rows of columns, or pictures. */
export function pictureOf([height, width, ...channels]: readonly number[]): Pick<KerasSignal, 'height' | 'each'> {
  if (width === undefined) return { height: undefined }
  const [C] = channels
  return {
    height,
    ...(C !== undefined && { each: { isSequence: true, features: width * C, time: height, height: width } }),
  }
}
