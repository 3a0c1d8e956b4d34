import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Padding } from '../kinds/masking.js'
import type { Layer, LayerConfig, LayerDefinition } from '../layer.js'
import type { Signal } from '../signal.js'
import { activationOf } from './keras_functions.js'
import type { KerasOptions } from './keras_options.js'

export type Floats = Tensor<FloatArray>

/** A variable of a layer, by its own name, or the names in several versions, and its shape. */
export type KerasVariable = readonly [own: string | readonly string[], shape: readonly number[]]

/** The input of a layer of Keras: [B,T,E], [B,E], or [B,T,height,C], whose columns are height·C here, and so on. */
export interface KerasSignal extends Signal {
  /** Steps, if the file has their number. */
  readonly time?: number | undefined
  readonly height?: number | undefined
  /** The form of a step that is a picture [height,width,C]: a sequence of `height` steps. */
  readonly each?: KerasSignal | undefined
  /** It is each row of pictures. */
  readonly isRow?: boolean
}

/** The parts of a file from which a row makes layers. */
export interface LayerAt {
  readonly options: KerasOptions
  readonly name: { readonly name?: string }
  readonly input: KerasSignal
  /** Values that it takes beside its input. */
  readonly others: readonly KerasSignal[]
  /** The place that masked steps of a masking layer may have; `none` if no later layer reads the mask. */
  readonly mask: Padding | 'none'
  /** Layers behind it, such as its activation. */
  readonly behind: LayerDefinition[]
}

export interface PlannedLayer {
  readonly layers: readonly LayerDefinition[]
  /** Rows of pictures. Default: as many as the input has, if the class takes pictures. */
  readonly height?: number | undefined
  /** The form of each step, if it is a picture. */
  readonly each?: KerasSignal | undefined
  /** Number of steps, if it does not follow from the input's alone. */
  readonly time?: number | undefined
  /** Variables of the file, if they differ from the class's weights. */
  readonly stored?: readonly KerasVariable[]
  /** The values of the layers' variables in their order, from the ones in `stored`. Default: these. */
  readonly values?: (stored: readonly Floats[]) => readonly Floats[]
}

/** The use of the mask of an earlier layer. A class that states none drops the mask, as Keras does. */
type MaskUse = 'makes' | 'uses' | 'passes' | 'ends' | 'normalizes' | 'attends'

export type OwnOptions = Readonly<Record<string, unknown>>

/** An option of Keras, which states options here, and follows from them. */
export interface KerasOption {
  readonly own?: string
  /** @param before options here that earlier ones state */
  readonly read: (at: LayerAt, option: string, before: OwnOptions) => OwnOptions
  /** The value in an export; undefined if it is left out, as options without one are. */
  readonly write?: (config: LayerConfig, layer: Layer) => unknown
}

/** A variable of a layer here in files of Keras. */
export interface KerasWeight {
  /** Its names in files, none if files lack it; an export writes the first. */
  readonly name?: string | readonly string[]
  /** The option without which the layer has none: then it is `absent`, by default 0. */
  readonly when?: string
  readonly absent?: number
  /** Its shape in files, with as many elements. */
  readonly shape?: (own: readonly number[], options: OwnOptions, input: Signal) => readonly number[]
}

/** A class of Keras that a layer here computes. */
export interface KerasClass {
  readonly mask?: MaskUse
  /** It takes [B,T,height,C], each row [C] of it, or [B,T,height,width,C], too. */
  readonly pictures?: boolean | 'rows' | 'films'
  /** It takes class ids. */
  readonly takesIds?: boolean
  /** Options of the layer here that all of the class have. */
  readonly implies?: OwnOptions
  readonly options?: Readonly<Record<string, KerasOption>>
  /** In the order of the variables here. */
  readonly weights?: readonly KerasWeight[]
  /** The layers, where they are others than that of the row. */
  readonly plan?: (at: LayerAt, own: OwnOptions) => PlannedLayer
  /** The part of the layer that has its weights. */
  readonly part?: string
  /** An export has no layer of the class: another one is the counterpart. */
  readonly isRead?: boolean
}

type Read = (options: KerasOptions, option: string, before: OwnOptions) => unknown

/** An option that is one here, or none if it is read as undefined. */
export function stated(own: string, read: Read, write = (value: unknown): unknown => value): KerasOption {
  return {
    own,
    read: ({ options }, option, before) => {
      const value = read(options, option, before)
      return value === undefined ? {} : { [own]: value }
    },
    write: (config) => (config[own] === undefined ? undefined : write(config[own])),
  }
}

export const count = (own: string) => stated(own, (options, option) => options.count(option))

export const number = (own: string, absent?: number) => stated(own, (options, option) => options.number(option, absent))

/** One of several names, by default the first. */
export const choice = (own: string, names: readonly string[]) =>
  stated(own, (options, option) => options.choice(option, names, names[0]))

/** A size along time, by default a number or an earlier option. */
export const axis = (own: string, absent: number | string = 1) =>
  stated(
    own,
    (options, option, before) => options.axis(option, typeof absent === 'string' ? Number(before[absent]) : absent),
    (size) => [size],
  )

/** Sizes along time and height, by default a number or an earlier option. */
export const extent = (own: string, absent: number | string) =>
  stated(own, (options, option, before) => {
    const size =
      typeof absent === 'string' ? (before[absent] as readonly [number, number]) : ([absent, absent] as const)
    return options.pair(option, size)
  })

export const ends = (before: string, after: string): KerasOption => ({
  own: `${before}, ${after}`,
  read: ({ options }, option) => {
    const [first, last] = options.pair(option, [1, 1], 0)
    return { [before]: first, [after]: last }
  },
})

export const only = (...values: readonly unknown[]): KerasOption => ({
  read: ({ options }, option) => {
    options.only({ [option]: values })
    return {}
  },
})

export const CHANNELS_LAST = only('channels_last')

/** Options without effect in inference. */
export function ignoring(...names: readonly string[]): Readonly<Record<string, KerasOption>> {
  const read: KerasOption['read'] = ({ options }, option) => {
    options.ignore(option)
    return {}
  }
  return Object.fromEntries(names.map((option) => [option, { read }]))
}

export const ACTIVATION: KerasOption = {
  own: 'activation',
  read: ({ options, behind }) => {
    const found = activationOf(options)
    behind.push(...found.behind)
    return { activation: found.fused }
  },
  write: ({ activation }) => activation,
}

/** An axis that must be the last one. Keras 2 counts from the batch: 2 of [B,T,E], 1 of [B,E], 3 of pictures. */
export const lastAxis = (rule: string): KerasOption => ({
  read: ({ options, input: { isSequence, height, isRow = false } }, option) => {
    const [given, ...others] = [options.value(option) ?? -1].flat()
    const last = 1 + Number(isSequence) + Number(isRow || height !== undefined)
    if (others.length > 0 || (given !== -1 && given !== last)) throw options.refused(rule)
    return {}
  },
  write: () => -1,
})

/** null means that it is absent. */
export const unlessNull = (
  own: string,
  read: (options: KerasOptions, option: string) => unknown,
  write?: (value: unknown) => unknown,
) => stated(own, (options, option) => (options.value(option) == null ? undefined : read(options, option)), write)

export const KERNEL_AND_BIAS: readonly KerasWeight[] = [{ name: 'kernel' }, { name: 'bias', when: 'use_bias' }]
export const SCALE_AND_CENTER: readonly KerasWeight[] = [
  { name: 'gamma', when: 'scale', absent: 1 },
  { name: 'beta', when: 'center' },
]

/** Weights of a layer whose variables have `shapes`: as the file has them, and the variables from them. */
export function weightsOf(
  weights: readonly KerasWeight[],
  shapes: readonly (readonly number[])[],
  { options, input }: Pick<LayerAt, 'options' | 'input'>,
  own: OwnOptions = {},
): Required<Pick<PlannedLayer, 'stored' | 'values'>> & { readonly unwanted: readonly string[] } {
  const present = weights.map(({ name, when }) => {
    const isStored = when === undefined || options.flag(when, true)
    return isStored ? name : undefined
  })
  return {
    stored: present.flatMap((name, k): KerasVariable[] => {
      return name === undefined || shapes[k] === undefined
        ? []
        : [[name, weights[k].shape?.(shapes[k], own, input) ?? shapes[k]]]
    }),
    unwanted: weights.flatMap(({ name }, k) => (present[k] === undefined ? [name ?? []].flat(2) : [])),
    values: (stored) => {
      const rest = stored.values()
      return shapes.map((shape, k) => {
        const name = present[k]
        const value = name === undefined ? undefined : rest.next().value
        return { data: value?.data ?? filled(shape, weights[k].absent ?? 0), shape }
      })
    },
  }
}

export function filled(shape: readonly number[], value: number): Float64Array {
  return new Float64Array(shape.reduce((a, b) => a * b, 1)).fill(value)
}

/** Steps of an input whose number the file has. */
export function stepsOf(options: KerasOptions, { time }: KerasSignal): number {
  if (time !== undefined) return time
  throw options.refused('its input must have a number of steps in the file')
}

/** E of a layer that computes with it. */
export function columnsOf(options: KerasOptions, { features, height }: KerasSignal): number {
  if (height !== undefined) throw options.refused('its input must have at most two dimensions beside that of the batch')
  if (features !== null) return features
  throw options.refused('its input must be numbers, not class ids: an Embedding must come before it')
}
