import { codedRangeError, elementCount } from '@cudnn-rnn/canonical/rules'
import { type GateName, gatesOf } from './cell_mode.js'
import { hiddenColumns, layerInputSize, numDirections, numPseudoLayers } from './dimensions.js'
import { checkDescriptor, type RnnDescriptor } from './rnn_descriptor.js'

/** `projection` exists for LSTM weights with numProj only. */
type RegionSide = 'input' | 'recurrent' | 'projection'

/** One canonical tensor: a gate's matrix or bias, or the projection matrix. */
export interface ParamRegion {
  readonly kind: 'weight' | 'bias'
  readonly layer: number
  /** 0 forward, 1 backward. */
  readonly direction: 0 | 1
  /** layer·D + direction: cuDNN's pseudo-layer, and the row of the state tensors. */
  readonly pseudoLayer: number
  readonly side: RegionSide
  /** Undefined for the projection, which belongs to no gate. */
  readonly gate: GateName | undefined
  /** cuDNN's linLayerID; also k in the checkpoint key `weight_<k>` or `bias_<k>`. */
  readonly linLayerId: number
  /** Weight [rows = output, columns = input], row-major (y = W·x); bias [H]. A dimension is 0 if cuDNN has no such region. */
  readonly shape: readonly [number, number] | readonly [number]
  /** Product of `shape`: 0 for absent regions (skip_input's input side, a bias that biasMode leaves out). */
  readonly size: number
}

/** A region of a gate: every one but the projection. */
export interface GateRegion extends ParamRegion {
  readonly gate: GateName
}

export function isGateRegion(region: ParamRegion): region is GateRegion {
  return region.gate !== undefined
}

/** Every canonical tensor of a network in canonical order, absent ones included with size 0. */
export interface ParamRegions {
  readonly weights: readonly ParamRegion[]
  readonly biases: readonly ParamRegion[]
}

/** Each pseudo-layer of an LSTM has 16 records: 2^20 of them take about 200 MB. */
const MAX_PSEUDO_LAYERS = 2 ** 16

/**
 * Lists the regions of `descriptor` in canonical order: pseudo-layer by pseudo-layer, in each the input side of every
 * gate, then the recurrent side, then (weights, with numProj) the projection [P,H].
 *
 * The lists keep their length for every inputMode and biasMode, as TensorFlow's do: a missing region has size 0.
 * Source: cuDNN's `cudnnGetRNNWeightParams` and TensorFlow's `params_to_canonical`.
 *
 * @throws RangeError `ERR_PARAMS_TOO_LARGE` above 2^16 pseudo-layers
 * @example
 * ```ts
 * import { createRnnDescriptor, paramRegions } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const { weights, biases } = paramRegions(descriptor)
 * console.log(weights.length, biases.length) // 6 6
 * console.log(weights[3]?.side, weights[3]?.gate, weights[3]?.shape) // recurrent reset [4, 4]
 * ```
 */
export function paramRegions(descriptor: RnnDescriptor): ParamRegions {
  checkDescriptor(descriptor)
  const pseudoLayers = numPseudoLayers(descriptor)
  if (pseudoLayers > MAX_PSEUDO_LAYERS) {
    throw codedRangeError(
      'ERR_PARAMS_TOO_LARGE',
      `Cannot list parameters as layers times directions must be at most 2^16: current value is ${pseudoLayers}`,
      { pseudoLayers },
    )
  }
  const weights: ParamRegion[] = []
  const biases: ParamRegion[] = []
  const gates = gatesOf(descriptor.cellMode)
  const directions = numDirections(descriptor)
  const { numUnits, numProj, biasMode } = descriptor
  const columns = { input: 0, recurrent: hiddenColumns(descriptor) }
  const biasSize = {
    input: biasMode === 'double' || biasMode === 'single_input' ? numUnits : 0,
    recurrent: biasMode === 'double' || biasMode === 'single_recurrent' ? numUnits : 0,
  }

  for (let layer = 0; layer < descriptor.numLayers; layer++) {
    const skipped = layer === 0 && descriptor.inputMode === 'skip_input'
    columns.input = skipped ? 0 : layerInputSize(descriptor, layer)
    for (let direction = 0; direction < directions; direction++) {
      const place = { layer, direction: direction as 0 | 1, pseudoLayer: layer * directions + direction }
      const add = (list: ParamRegion[], own: Omit<ParamRegion, keyof typeof place | 'size'>) =>
        list.push({ ...place, ...own, size: elementCount(own.shape) })
      for (const [sideIndex, side] of (['input', 'recurrent'] as const).entries()) {
        for (const [gateIndex, gate] of gates.entries()) {
          const own = { side, gate, linLayerId: sideIndex * gates.length + gateIndex }
          add(weights, { ...own, kind: 'weight', shape: [numUnits, columns[side]] })
          add(biases, { ...own, kind: 'bias', shape: [biasSize[side]] })
        }
      }
      if (numProj !== undefined) {
        const own = { side: 'projection', gate: undefined, linLayerId: 2 * gates.length } as const
        add(weights, { ...own, kind: 'weight', shape: [numProj, numUnits] })
      }
    }
  }
  return { weights, biases }
}
