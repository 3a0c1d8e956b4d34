import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { KerasOptions } from './keras_options.js'
import type { LayerDefinition } from './layer.js'
import type { Padding } from './masked_steps.js'
import type { Signal } from './signal.js'

/** A variable of a layer, by its own name, or those of several versions, and its shape. */
export type KerasVariable = readonly [own: string | readonly string[], shape: readonly number[]]

/** The input of a layer of Keras: [B,T,E], [B,E], or [B,T,height,C], whose columns are height·C here. */
export interface KerasSignal extends Signal {
  /** Steps, if the file has their number. */
  readonly time?: number | undefined
  readonly height?: number | undefined
}

/** A layer of Keras as layers here. */
export interface PlannedLayer {
  readonly output: KerasSignal
  readonly layers: readonly LayerDefinition[]
  /** As the file has them; it lists those with a name here first. */
  readonly variables?: readonly KerasVariable[]
  /** The values of the layers' variables in their order, from those of `variables`. Default: these. */
  readonly values?: (stored: readonly Tensor<FloatArray>[]) => readonly Tensor<FloatArray>[]
}

/** The parts of a file from which a row makes a layer. */
export interface LayerAt {
  readonly options: KerasOptions
  readonly name: { readonly name?: string }
  readonly input: KerasSignal
  /** Of a layer that masks: where masked steps may be, or `none` if nothing behind it looks at the mask. */
  readonly mask: Padding | 'none'
}

/** The use of the mask of an earlier layer. A row that states none drops the mask, as Keras does. */
type MaskUse = 'makes' | 'uses' | 'passes' | 'ends' | 'normalizes'

export interface KerasRow {
  readonly mask?: MaskUse
  /** It takes [B,T,height,C]. */
  readonly pictures?: boolean
  readonly plan: (at: LayerAt) => PlannedLayer
}

/** E of a layer that computes with it. */
export function columnsOf(options: KerasOptions, { features, height }: KerasSignal): number {
  if (height !== undefined) throw options.refused('its input must have at most two dimensions beside that of the batch')
  if (features !== null) return features
  throw options.refused('its input must be numbers, not class ids: an Embedding must come before it')
}
