import { entryOf } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  type CellMode,
  canonicalToTensorflow,
  createRnnDescriptor,
  layerInputSize,
  numDirections,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
  tensorflowLayout,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'
import type { KeyScheme, SchemePart } from './key_scheme.js'
import { regionsOf } from './region_tensors.js'

/** The cell whose variables hold a mode's parameters on the CPU. */
const CELL_SCOPES: Readonly<Record<CellMode, string>> = {
  lstm: 'cudnn_compatible_lstm_cell',
  gru: 'cudnn_compatible_gru_cell',
  rnn_relu: 'basic_rnn_cell',
  rnn_tanh: 'basic_rnn_cell',
}

/** Key prefixes of the cells of a network, by pseudo-layer: TensorFlow 1.4 to 1.15, `[<scope>/]rnn/multi_rnn_cell/…`. */
export function cellPrefixes({ cellMode, numLayers, direction }: RnnDescriptor, scope: string): string[] {
  const outer = scope === '' ? '' : `${scope}/`
  const cell = CELL_SCOPES[cellMode]
  return Array.from({ length: numLayers * numDirections({ direction }) }, (_, pseudoLayer) => {
    if (direction === 'unidirectional') return `${outer}rnn/multi_rnn_cell/cell_${pseudoLayer}/${cell}`
    const side = pseudoLayer % 2 === 0 ? 'fw' : 'bw'
    return `${outer}stack_bidirectional_rnn/cell_${Math.floor(pseudoLayer / 2)}/bidirectional_rnn/${side}/${cell}`
  })
}

/**
 * Keys of TensorFlow 1.4 to 1.15: the variables of its CPU cells, so that those load parameters trained on a GPU and the other way
 * round. Lossy as there: the two biases of a gate are stored as their sum and restored as halves of it.
 *
 * @param prefixesOf key prefixes by pseudo-layer.
 */
export function cellScheme(prefixesOf: (descriptor: RnnDescriptor) => readonly string[]): KeyScheme {
  return {
    anyShape: false,
    shapes: (descriptor) => shapesOf(prefixesOf(descriptor), descriptor),
    parts: (descriptor) => cellParts(prefixesOf(descriptor), descriptor),
    fromKeys: (descriptor, tensors) =>
      tensorflowToCanonical(descriptor, cellsOf(descriptor, prefixesOf(descriptor), tensors)) as CanonicalParams,
  }
}

/** The shapes of the variables of all cells under their keys. */
export function shapesOf(prefixes: readonly string[], descriptor: RnnDescriptor): Map<string, readonly number[]> {
  const entries = tensorflowLayout(descriptor).groups.flatMap(({ shapes }, index) =>
    Object.entries(shapes).map(([variable, shape]) => [`${prefixes[index]}/${variable}`, shape] as const),
  )
  return new Map(entries)
}

/** More variables of a cell, made of its canonical tensors. */
export interface MoreVariables {
  readonly names: readonly string[]
  variables(cell: RnnDescriptor, canonical: CanonicalParams): Readonly<Record<string, Tensor>>
}

/** A part for each cell: its variables under their keys. */
export function cellParts(
  prefixes: readonly string[],
  descriptor: RnnDescriptor,
  more: MoreVariables = { names: [], variables: () => ({}) },
): SchemePart[] {
  const regions = regionsOf(descriptor)
  return tensorflowLayout(descriptor).groups.map(({ shapes }, pseudoLayer) => {
    const cell = cellOf(descriptor, Math.floor(pseudoLayer / numDirections(descriptor)))
    const key = (variable: string) => `${prefixes[pseudoLayer]}/${variable}`
    const count = paramRegions(cell).weights.length
    return {
      keys: [...Object.keys(shapes), ...more.names].map(key),
      numbers: regions.flatMap((region, number) => (region.pseudoLayer === pseudoLayer ? [number] : [])),
      toKeys: (tensors) => {
        const canonical = { weights: tensors.slice(0, count), biases: tensors.slice(count) } as CanonicalParams
        const variables = { ...canonicalToTensorflow(cell, canonical)[0], ...more.variables(cell, canonical) }
        return new Map(Object.entries(variables).map(([variable, tensor]) => [key(variable), tensor]))
      },
    }
  })
}

/** One direction of a layer, as a network. */
function cellOf(descriptor: RnnDescriptor, layer: number): RnnDescriptor {
  return createRnnDescriptor({
    ...descriptor,
    numLayers: 1,
    direction: 'unidirectional',
    inputSize: layerInputSize(descriptor, layer),
    inputMode: layer === 0 ? descriptor.inputMode : 'linear_input',
  })
}

/** The variables of each cell by their own names, as `tensorflowToCanonical` takes them. */
export function cellsOf(
  descriptor: RnnDescriptor,
  prefixes: readonly string[],
  tensors: ReadonlyMap<string, Tensor>,
): Parameters<typeof tensorflowToCanonical>[1] {
  return tensorflowLayout(descriptor).groups.map(({ shapes }, index) => {
    const variables = Object.entries(shapes).map(([variable, shape]) => {
      return [variable, { data: entryOf(tensors, `${prefixes[index]}/${variable}`).data, shape }] as const
    })
    return Object.fromEntries(variables) as never
  })
}
