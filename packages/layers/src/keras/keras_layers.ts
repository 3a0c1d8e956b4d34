import type { FloatArray } from '@cudnn-rnn/canonical'
import { noExport } from '../export_error.js'
import { type Floats, filled, type KerasClass, type OwnOptions } from './keras_row.js'
import type { Layer } from '../layer.js'
import { featuresOf } from '../signal.js'

export type KerasConfig = Readonly<Record<string, unknown>>

/** A layer of Keras, with its variables by their paths below its own. */
export interface KerasLayer {
  readonly className: string
  readonly config: KerasConfig
  readonly variables?: Readonly<Record<string, Floats>>
  /** Arguments of its call. */
  readonly call?: KerasConfig
  /** How many values it takes at least: its input stands for those that are missing. Default: 1. */
  readonly takes?: number
  /** It is an operation, which takes these arguments behind its input. */
  readonly operands?: readonly unknown[]
  /** Layers that each of them passes first. */
  readonly before?: readonly (KerasLayer | undefined)[]
  /** It takes them as arguments, not as a list. */
  readonly isSpread?: boolean
}

export async function readVariables(layer: Layer): Promise<Floats[]> {
  const read = await Promise.all(layer.variables.map(({ value }) => value.read()))
  return read.map(({ data, shape }) => ({ data: data.slice() as FloatArray, shape }))
}

/** The layer of Keras of the first of `classes` whose options the layer has. */
export async function layerOfClass(classes: Readonly<Record<string, KerasClass>>, layer: Layer): Promise<KerasLayer> {
  const { config } = layer.definition
  const isFirst = ([, { isRead = false, implies = {} }]: [string, KerasClass]) =>
    !isRead && Object.entries(implies).every(([option, value]) => config[option] === value)
  const found = Object.entries(classes).find(isFirst)
  if (found === undefined) throw noExport('Keras', layer)
  const [className, { options = {}, weights = [] }] = found
  const written = Object.entries(options).map(([option, { write }]) => [option, write?.(config, layer)] as const)
  const paths: [string, Floats][] = []
  for (const [k, { data, shape }] of (await readVariables(layer)).entries()) {
    const { name, shape: ofFile } = weights[k] ?? {}
    const path = pathOf(name === undefined ? undefined : [name].flat()[0], k)
    paths.push([path, { data, shape: ofFile?.(shape, config as OwnOptions, layer.input) ?? shape }])
  }
  return { className, config: Object.fromEntries(written), variables: Object.fromEntries(paths) }
}

/** The place of a variable below that of its layer: by its number, or by its name in a part of the layer. */
function pathOf(name: string | undefined, index: number): string {
  const [own, part] = (name ?? '').split('/').reverse()
  return part === undefined ? `vars/${index}` : `${part}_dense/vars/${own === 'bias' ? 1 : 0}`
}

/** A layer over pictures [time,height,channels], between changes of the form of its input. */
export function overPictures({ input, output }: Layer, height: number, ...inner: readonly KerasLayer[]): KerasLayer[] {
  return [reshaped([-1, height, featuresOf(input) / height]), ...inner, reshaped([-1, featuresOf(output)])]
}

export function reshaped(shape: readonly number[]): KerasLayer {
  return { className: 'Reshape', config: { target_shape: shape } }
}

/** A factor and an offset of each channel: a batch normalization of mean 0 and variance 1. */
export function scaled([factor, offset]: readonly Floats[]): KerasLayer {
  const { shape } = factor
  const all = [factor, offset, { data: filled(shape, 0), shape }, { data: filled(shape, 1), shape }]
  return {
    className: 'BatchNormalization',
    config: { axis: -1, epsilon: 0 },
    variables: Object.fromEntries(all.map((tensor, k) => [`vars/${k}`, tensor])),
  }
}

/** A step of a sequence, -1 for the last one. */
export function stepOfSequence(step: number): KerasLayer {
  const all = { class_name: '__slice__', config: { start: null, stop: null, step: null } }
  return { className: 'GetItem', config: {}, operands: [[all, step, all]] }
}

export function described(className: string, config: KerasConfig): KerasConfig {
  return { module: 'keras.layers', class_name: className, config, registered_name: null }
}

/** In snake case, as Keras names the places of layers in a file: `re_lu`, `max_pooling1d`. */
export function placeOf(className: string): string {
  const words = className.replace(/(.)([A-Z][a-z]+)/g, '$1_$2').replace(/([a-z])([A-Z])/g, '$1_$2')
  return words.toLowerCase()
}
