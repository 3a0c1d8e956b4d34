import { entryOf, required } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  GATE_ORDERS,
  gatePosition,
  gatesOf,
  type RnnDescriptor,
  type Tensor,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'
import { cellParts, cellsOf, shapesOf } from './cell_scheme.js'
import type { KeyScheme } from './key_scheme.js'
import { tf12Scheme } from './tf12_scheme.js'

/** The tensors that hold a layer's input-side and recurrent biases beside their sum. The space in GRU's is TensorFlow's. */
const BIAS_TENSORS = { lstm: ['bias_cudnn_0', 'bias_cudnn_1'], gru: ['bias_cudnn 0', 'bias_cudnn 1'] } as const

/** The gates that share TensorFlow's fused bias, in its column order, as places in the canonical list. */
const BIAS_ORDER = {
  lstm: GATE_ORDERS.tensorflow.lstm.map((gate) => gatePosition('cudnn', 'lstm', gate)),
  gru: (['reset', 'update'] as const).map((gate) => gatePosition('cudnn', 'gru', gate)),
}

/**
 * Keys of TensorFlow 1.3 for unidirectional LSTM and GRU: `[<scope>/]multi_rnn_cell/cell_<l>/cudnn_compatible_…_cell/…`,
 * the variables of its CPU cells and, so that nothing is lost, the two biases of the fused gates beside their sum.
 * Everything else is saved as by 1.2.
 */
export function tf13Scheme(name: string, defaultName: string): KeyScheme {
  const fallback = tf12Scheme(name, defaultName)
  const scope = name === defaultName ? '' : `${name}/`
  const prefixesOf = ({ numLayers }: RnnDescriptor, mode: 'lstm' | 'gru') =>
    Array.from(
      { length: numLayers },
      (_, layer) => `${scope}multi_rnn_cell/cell_${layer}/cudnn_compatible_${mode}_cell`,
    )
  return {
    anyShape: true,
    shapes: (descriptor) => {
      const mode = cellOf(descriptor)
      if (mode === undefined) return fallback.shapes(descriptor)
      const prefixes = prefixesOf(descriptor, mode)
      const shapes = shapesOf(prefixes, descriptor)
      const fused = [BIAS_ORDER[mode].length * descriptor.numUnits]
      for (const prefix of prefixes) for (const bias of BIAS_TENSORS[mode]) shapes.set(`${prefix}/${bias}`, fused)
      return shapes
    },
    parts: (descriptor) => {
      const mode = cellOf(descriptor)
      if (mode === undefined) return fallback.parts(descriptor)
      return cellParts(prefixesOf(descriptor, mode), descriptor, {
        names: BIAS_TENSORS[mode],
        variables: (cell, canonical) =>
          Object.fromEntries(
            ([0, 1] as const).map((side) => [BIAS_TENSORS[mode][side], fusedBias(cell, mode, canonical, 0, side)]),
          ),
      })
    },
    fromKeys: (descriptor, tensors) => {
      const mode = cellOf(descriptor)
      if (mode === undefined) return fallback.fromKeys(descriptor, tensors)
      const prefixes = prefixesOf(descriptor, mode)
      const canonical = tensorflowToCanonical(descriptor, cellsOf(descriptor, prefixes, tensors)) as CanonicalParams
      for (const [layer, prefix] of prefixes.entries()) {
        for (const side of [0, 1] as const) {
          const fused = entryOf(tensors, `${prefix}/${BIAS_TENSORS[mode][side]}`)
          splitFusedBias(descriptor, mode, canonical, layer, side, fused)
        }
      }
      return canonical
    },
  }
}

function cellOf({ cellMode, direction, numProj }: RnnDescriptor): 'lstm' | 'gru' | undefined {
  if (direction === 'bidirectional' || numProj !== undefined) return undefined
  return cellMode === 'lstm' || cellMode === 'gru' ? cellMode : undefined
}

/** The canonical biases of one side of a layer that a fused bias holds, in its order. */
function biasesOf(
  { cellMode }: RnnDescriptor,
  mode: 'lstm' | 'gru',
  canonical: CanonicalParams,
  layer: number,
  side: 0 | 1,
) {
  const gates = gatesOf(cellMode).length
  return BIAS_ORDER[mode].map((gate) =>
    required(
      canonical.biases[layer * 2 * gates + side * gates + gate],
      'canonical biases have one tensor for each gate and side',
    ),
  )
}

function fusedBias(
  descriptor: RnnDescriptor,
  mode: 'lstm' | 'gru',
  canonical: CanonicalParams,
  layer: number,
  side: 0 | 1,
): Tensor {
  const parts = biasesOf(descriptor, mode, canonical, layer, side)
  const H = descriptor.numUnits
  const data =
    parts[0]?.data.constructor === Float64Array
      ? new Float64Array(parts.length * H)
      : new Float32Array(parts.length * H)
  for (const [index, part] of parts.entries()) data.set(part.data, index * H)
  return { data, shape: [data.length] }
}

function splitFusedBias(
  descriptor: RnnDescriptor,
  mode: 'lstm' | 'gru',
  canonical: CanonicalParams,
  layer: number,
  side: 0 | 1,
  { data }: Tensor,
): void {
  const H = descriptor.numUnits
  for (const [index, part] of biasesOf(descriptor, mode, canonical, layer, side).entries()) {
    part.data.set(data.subarray(index * H, (index + 1) * H))
  }
}
