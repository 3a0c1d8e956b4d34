import { entryOf } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  type CellMode,
  canonicalToFramework,
  createRnnDescriptor,
  type FrameworkLayout,
  frameworkToCanonical,
  layerInputSize,
  type NamedTensors,
  numDirections,
  paramRegions,
  type RnnDescriptor,
  tensorflowLayout,
} from '@cudnn-rnn/canonical'
import type { KeyScheme } from './key_scheme.js'
import { regionsOf } from './region_scheme.js'

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

type LayoutOf = (descriptor: RnnDescriptor) => FrameworkLayout

/**
 * Keys of TensorFlow 1.4 to 1.15: the variables of its CPU cells, so that those load parameters trained on a GPU and the other way
 * round. Lossy as there: the two biases of a gate are stored as their sum and restored as halves of it.
 *
 * @param prefixesOf key prefixes by pseudo-layer.
 * @param exact another layout of the cells, whose variables are saved, too, and from which alone canonical tensors are restored.
 */
export function cellScheme(
  prefixesOf: (descriptor: RnnDescriptor) => readonly string[],
  exact: LayoutOf = tensorflowLayout,
): KeyScheme {
  const layouts = [...new Set([tensorflowLayout, exact])]
  /** The shapes of a cell's variables under their keys, for each cell. */
  const cellsOf = (descriptor: RnnDescriptor) => {
    const prefixes = prefixesOf(descriptor)
    return prefixes.map((prefix, index) => {
      const shapes = layouts.flatMap((layoutOf) => Object.entries(layoutOf(descriptor).groups[index]?.shapes ?? {}))
      return { prefix, shapes: new Map(shapes.map(([variable, shape]) => [`${prefix}/${variable}`, shape])) }
    })
  }
  return {
    anyShape: false,
    shapes: (descriptor) => new Map(cellsOf(descriptor).flatMap(({ shapes }) => [...shapes])),
    parts: (descriptor) => {
      const regions = regionsOf(descriptor)
      return cellsOf(descriptor).map(({ prefix, shapes }, pseudoLayer) => {
        const cell = cellOf(descriptor, Math.floor(pseudoLayer / numDirections(descriptor)))
        const count = paramRegions(cell).weights.length
        return {
          keys: [...shapes.keys()],
          numbers: regions.flatMap((region, number) => (region.pseudoLayer === pseudoLayer ? [number] : [])),
          toKeys: (tensors) => {
            const canonical = { weights: tensors.slice(0, count), biases: tensors.slice(count) } as CanonicalParams
            const variables = layouts.flatMap((layoutOf) => canonicalToFramework(cell, layoutOf(cell), canonical))
            const entries = variables.flatMap((each) => Object.entries(each))
            return new Map(entries.map(([variable, tensor]) => [`${prefix}/${variable}`, tensor]))
          },
        }
      })
    },
    fromKeys: (descriptor, tensors) => {
      const layout = exact(descriptor)
      const prefixes = prefixesOf(descriptor)
      const cells = layout.groups.map(({ shapes }, index) => {
        const variables = Object.entries(shapes).map(([variable, shape]) => {
          return [variable, { data: entryOf(tensors, `${prefixes[index]}/${variable}`).data, shape }] as const
        })
        return Object.fromEntries(variables) as NamedTensors
      })
      return frameworkToCanonical(descriptor, layout, cells)
    },
  }
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
