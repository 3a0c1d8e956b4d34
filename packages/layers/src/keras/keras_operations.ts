import type { ActivationName } from '@cudnn-rnn/ops/executor'
import { activation } from '../kinds/activation.js'
import { dense } from '../kinds/dense.js'
import { rearrange } from '../kinds/rearrange.js'
import { repeatVector } from '../kinds/repeat_vector.js'
import { reverse } from '../kinds/reverse.js'
import { lastStep, stepOf } from '../kinds/sequence_pooling.js'
import { type StepFunction, stepFunction } from '../kinds/step_function.js'
import { spreadSteps } from '../kinds/step_windows.js'
import type { LayerDefinition } from '../layer.js'
import { overRows, type pooledWhole } from './keras_convolutions.js'
import { relu6 } from './keras_functions.js'
import { columnsOf, filled, ignoring, type KerasClass, type LayerAt, only, stepsOf, unlessNull } from './keras_row.js'

/** An operation of Keras 3 in a functional model, which drops masks. `operands` of its call are null for a tensor. */
export const operation = (row: KerasClass): KerasClass => ({ isRead: true, ...row })

type Described = Parameters<typeof stepFunction>[0]

const line = (slope: number, offset = 0): Described => ({ function: 'line', slope, offset })
const power = (exponent: number): Described => ({ function: 'power', exponent })
const divided = (value: number, isFirst: boolean) => (isFirst ? [power(-1), line(value)] : [line(1 / value)])

/** Operations of a tensor and a number, as functions of the number and of whether it comes first. */
const WITH_NUMBER: Readonly<Record<string, (value: number, isFirst: boolean) => readonly Described[]>> = {
  Add: (value) => [line(1, value)],
  Subtract: (value, isFirst) => [isFirst ? line(-1, value) : line(1, -value)],
  Multiply: (value) => [line(value)],
  TrueDivide: divided,
  Divide: divided,
  Maximum: (minimum) => [{ function: 'clip', minimum }],
  Minimum: (maximum) => [{ function: 'clip', maximum }],
  Power: (value, isFirst) => (isFirst ? [] : [power(value)]),
}

const withNumber = (functionsOf: (typeof WITH_NUMBER)[string]): KerasClass =>
  operation({
    pictures: true,
    options: ignoring('operands'),
    plan: ({ options, input, others, name: own }) => {
      const operands = [options.value('operands')].flat()
      const value = operands.find((each) => each !== null)
      const isFirst = operands[0] !== null
      const functions = typeof value === 'number' ? functionsOf(value, isFirst) : []
      if (others.length > 0 || operands.length !== 2 || functions.length === 0)
        throw options.refused('it must take two tensors, or a tensor and a number')
      if (input.features === null) columnsOf(options, input)
      return { layers: functions.map((each, k) => stepFunction(k === 0 ? { ...each, ...own } : each)) }
    },
  })

const stepwise = (make: (name: LayerAt['name']) => LayerDefinition): KerasClass =>
  operation({
    pictures: true,
    plan: ({ options, input, name }) => {
      if (input.features === null) columnsOf(options, input)
      return { layers: [make(name)] }
    },
  })
const activated = (function_: ActivationName) => stepwise((name) => activation(function_, name))
const computed = (function_: StepFunction, own = {}) =>
  stepwise((name) => stepFunction({ function: function_, ...own, ...name }))

const EXPONENTS = { Square: 2, Sqrt: 0.5, Rsqrt: -0.5, Reciprocal: -1 }

const bound = (own: string) => unlessNull(own, (options, option) => options.number(option))
const CLIP: KerasClass = {
  ...computed('clip'),
  options: { x_min: bound('minimum'), x_max: bound('maximum') },
  plan: ({ options, input, name }, own) => {
    if (input.features === null) columnsOf(options, input)
    return { layers: [stepFunction({ function: 'clip', ...own, ...name })] }
  },
}

export const STEPWISE_OPERATIONS: Readonly<Record<string, KerasClass>> = {
  ...Object.fromEntries(Object.entries(WITH_NUMBER).map(([name, make]) => [name, withNumber(make)])),
  ...{
    Relu: activated('relu'),
    Sigmoid: activated('sigmoid'),
    Tanh: activated('tanh'),
    Softplus: activated('softplus'),
  },
  ...{ Silu: computed('silu'), Exp: computed('exponential'), Relu6: stepwise(relu6) },
  ...{ Log: computed('log'), Sin: computed('sin'), Cos: computed('cos'), Sign: computed('sign') },
  ...Object.fromEntries(Object.entries(EXPONENTS).map(([name, exponent]) => [name, computed('power', { exponent })])),
  ...{ Clip: CLIP, Absolute: computed('relu', { slope: -1 }), Negative: computed('line', { slope: -1 }) },
}

/** Layers behind a pooling that keep the axis of time. */
export function kept(at: LayerAt, layers: readonly LayerDefinition[]): LayerDefinition[] {
  return at.options.flag('keepdims', false) ? [...layers, repeatVector({ steps: 1 })] : [...layers]
}

/** Reductions over other axes than that of time. */
interface OtherAxes {
  /** Over the rows of pictures. */
  readonly rows?: Parameters<typeof pooledWhole>[0]
  /** The factor of each column in their sum. */
  readonly factor?: (columns: number) => number
}

/** A reduction over the steps, over the rows of pictures, or over columns to one. */
export const overTime = (
  pool: (name: LayerAt['name']) => LayerDefinition,
  { rows, factor }: OtherAxes = {},
): KerasClass =>
  operation({
    pictures: true,
    options: { initial: only(), ...ignoring('axis', 'keepdims') },
    plan: (at) => {
      const { options, input, name } = at
      const { isSequence, height } = input
      const [axis, ...more] = [options.value('axis')].flat()
      const isKept = options.flag('keepdims', false)
      if (height !== undefined && axis === 2 && more.length === 0 && rows !== undefined)
        return { ...overRows(rows, at), height: isKept ? 1 : undefined }
      const columns = columnsOf(options, input)
      const isOfColumns = axis === -1 || axis === (isSequence ? 2 : 1)
      if (isOfColumns && more.length === 0 && isKept && factor !== undefined) {
        const kernel = [columns, 1]
        const values = [
          { data: filled(kernel, factor(columns)), shape: kernel },
          { data: filled([1], 0), shape: [1] },
        ]
        return { layers: [dense({ units: 1, ...name })], values: () => values }
      }
      if (!isSequence || more.length > 0 || (axis !== 1 && axis !== -2 && !isOfColumns))
        throw options.wrong('axis', 'one of 1, 2, -1, -2, of a sequence')
      if (!isOfColumns) return { layers: kept(at, [pool(name)]) }
      // Columns become steps, and steps columns.
      const time = stepsOf(options, input)
      const turned = rearrange({ from: [time, columns], to: [columns, time], order: [2, 1] })
      const back = isKept ? [rearrange({ from: [time], to: [time, 1] })] : []
      return { layers: [turned, pool(name), ...back] }
    },
  })

export const FLIP = operation({
  pictures: 'films',
  options: ignoring('axis'),
  plan: ({ options, input, name }) => {
    const { height, each } = input
    columnsOf(options, { ...input, height: undefined })
    const [axis, ...more] = [options.value('axis')].flat()
    if (!input.isSequence || (axis !== 1 && axis !== -2) || more.length > 0)
      throw options.wrong('axis', '1, of a sequence')
    return { layers: [reverse(name)], height, each }
  },
})

/** Steps of a sequence: one of them, or those between two; columns between two are a product with a part of the unit matrix. */
export const GET_ITEM: KerasClass = operation({
  options: ignoring('operands'),
  plan: ({ options, input, name }) => {
    const features = columnsOf(options, input)
    const [, key] = [options.value('operands')].flat()
    const keys = [key].flat() as readonly unknown[]
    const rank = input.isSequence ? 3 : 2
    const given = keys.flatMap((each) => {
      const isRest = (each as Partial<Record<'class_name', unknown>> | null)?.class_name === '__ellipsis__'
      return isRest ? Array.from({ length: rank + 1 - keys.length }, () => ALL) : [boundsOf(each)]
    })
    const isAll = (bounds: unknown) => String(bounds) === String(ALL)
    const [rows, ...axes] = given
    const [columns = ALL] = axes.splice(rank - 2)
    const [taken = ALL] = axes
    if (given.length > rank || given.includes(undefined) || !isAll(rows) || typeof columns === 'number')
      throw options.refused(
        'it must take steps of a sequence, or columns: [:, step], [:, first:last] or [..., first:last]',
      )
    if (!isAll(columns)) {
      if (!isAll(taken)) throw options.refused('the columns must be some of its input, in all steps')
      return columnsBetween({ options, name }, features, columns)
    }
    if (isAll(taken)) return { layers: [] }
    if (typeof taken === 'number') {
      const { time } = input
      if (time !== undefined && (taken < -time || taken >= time))
        throw options.refused('the step must be one of its input')
      if (taken >= 0) return { layers: [stepOf({ step: taken, ...name })] }
      const before = taken === -1 ? [] : [spreadSteps({ croppedAfter: -taken - 1 })]
      return { layers: [...before, lastStep({ of: 'sequence', ...name })] }
    }
    return stepsBetween({ options, input, name }, taken)
  },
})

type Between = readonly [first: number, last: number | null]

/** Columns between two, by a part of the unit matrix. */
function columnsBetween({ options, name }: Pick<LayerAt, 'options' | 'name'>, features: number, between: Between) {
  const places = Array.from({ length: features }, (_, k) => k).slice(between[0], between[1] ?? features)
  const units = places.length
  if (units === 0) throw options.refused('the columns must be some of its input')
  const kernel = { data: filled([features, units], 0), shape: [features, units] }
  for (const [k, place] of places.entries()) kernel.data[place * units + k] = 1
  return {
    layers: [dense({ units, ...name })],
    values: () => [kernel, { data: filled([units], 0), shape: [units] }],
  }
}

function stepsBetween({ options, input, name }: Pick<LayerAt, 'options' | 'input' | 'name'>, [first, last]: Between) {
  const croppedBefore = first < 0 ? Math.max(0, stepsOf(options, input) + first) : first
  const end = last === null || last < 0 ? 0 : Math.max(0, stepsOf(options, input) - last)
  const croppedAfter = last !== null && last < 0 ? -last : end
  if (input.time !== undefined && croppedBefore + croppedAfter >= input.time)
    throw options.refused('the steps must be some of its input')
  return { layers: [spreadSteps({ croppedBefore, croppedAfter, ...name })] }
}

/** A part of a tensor along an axis: as many equal ones, or those between places. */
export const SPLIT = operation({
  options: ignoring('axis', 'indices_or_sections', 'part'),
  plan: ({ options, input, name }) => {
    const features = columnsOf(options, input)
    const [axis, given, part] = ['axis', 'indices_or_sections', 'part'].map((each) => options.value(each))
    const isOfColumns = axis === -1 || axis === (input.isSequence ? 2 : 1)
    if (!isOfColumns && !(input.isSequence && (axis === 1 || axis === -2)))
      throw options.wrong('axis', 'one of 1, 2, -1, -2')
    const size = isOfColumns ? features : stepsOf(options, input)
    const places = Array.isArray(given)
      ? [0, ...given, size]
      : Array.from({ length: Number(given) + 1 }, (_, k) => (k * size) / Number(given))
    const between = places.slice(part as number, (part as number) + 2)
    const isRight =
      places.every((place, k) => Number.isSafeInteger(place) && place >= (places[k - 1] ?? 0)) && places.at(-1) === size
    if (!isRight || between.length < 2 || between[0] === between[1])
      throw options.wrong('indices_or_sections', `a divisor of ${size}, or rising integers below it`)
    return isOfColumns
      ? columnsBetween({ options, name }, features, between as unknown as Between)
      : stepsBetween({ options, input, name }, between as unknown as Between)
  },
})

const ALL = [0, null] as const

/** An index, or the first step of a slice and the one behind it; undefined for others. */
function boundsOf(key: unknown): number | Between | undefined {
  if (Number.isSafeInteger(key)) return key as number
  const { class_name: kind, config } = (key ?? {}) as Readonly<Record<string, unknown>>
  const { start, stop, step } = (config ?? {}) as Readonly<Record<string, unknown>>
  const isBound = (bound: unknown) => bound == null || Number.isSafeInteger(bound)
  if (kind !== '__slice__' || !isBound(start) || !isBound(stop) || (step ?? 1) !== 1) return undefined
  return [(start ?? 0) as number, (stop ?? null) as number | null]
}
