import type { FloatArray } from '@cudnn-rnn/canonical'
import { type RnnPassSizes, RnnTape } from '@cudnn-rnn/executor-kit'
import type { LayerRecord } from './layer_forward.js'

/** State from a training forward of the reference executor to its backward. */
export interface TapeContents {
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  /** The input of every layer, after dropout. */
  readonly layerInputs: readonly FloatArray[]
  /** Scale of every element of the layer outputs that dropout was applied to: 0 or 1/(1-p). */
  readonly dropoutScales: readonly FloatArray[]
  /** The cell states that entered, clipped; undefined without a clip. */
  readonly initialCells: FloatArray | undefined
  /** By pseudo-layer. */
  readonly records: readonly LayerRecord[]
}

/** The tape of one training forward. */
export class ReferenceTape extends RnnTape<TapeContents> {}

/** The memory that a tape keeps alive: the first layer's input and the parameters are the caller's. */
export function tapeBytes({ layerInputs, dropoutScales, initialCells, records }: TapeContents): number {
  const kept = records.flatMap(({ saved, previousHidden, unprojected }) => [saved, previousHidden, unprojected])
  const all = [...layerInputs.slice(1), ...dropoutScales, initialCells, ...kept]
  return all.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0)
}
