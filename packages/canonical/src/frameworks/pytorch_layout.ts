import { hiddenColumns, layerInputSize, numDirections, numGates, numPseudoLayers } from '../dimensions.js'
import type { GateRegion, ParamRegion } from '../param_regions.js'
import { checkDescriptor, type RnnDescriptor } from '../rnn_descriptor.js'
import type { CanonicalParams, FloatArray } from '../tensor.js'
import { type FrameworkLayout, frameworkLayout, matrixShape, rowsAt } from './framework_layout.js'
import { canonicalToFramework, frameworkToCanonical, type NamedTensors } from './framework_tensors.js'
import { gatePosition } from './gate_order.js'

const SIDE_LETTERS = { input: 'ih', recurrent: 'hh', projection: 'hr' } as const

/**
 * The state dict of one `torch.nn.LSTM`, `GRU` or `RNN`, a single record, k the layer, h = P or H:
 * `weight_ih_l<k>[_reverse]` [G·H,in], `weight_hh_l<k>` [G·H,h], `bias_ih_l<k>`, `bias_hh_l<k>` [G·H] and with numProj
 * (`proj_size`) `weight_hr_l<k>` [P,H]. Gates i,f,g,o and r,z,n, which is canonical order. Lossless.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export function pytorchLayout(descriptor: RnnDescriptor): FrameworkLayout {
  checkDescriptor(descriptor)
  const H = descriptor.numUnits
  const directions = numDirections(descriptor)
  const suffix = (pseudoLayer: number) =>
    `_l${Math.floor(pseudoLayer / directions)}${pseudoLayer % directions === 1 ? '_reverse' : ''}`

  const shapes = () => {
    const named: Record<string, readonly number[]> = {}
    for (let pseudoLayer = 0; pseudoLayer < numPseudoLayers(descriptor); pseudoLayer++) {
      const at = suffix(pseudoLayer)
      const rows = numGates(descriptor) * H
      named[`weight_ih${at}`] = [rows, layerInputSize(descriptor, Math.floor(pseudoLayer / directions))]
      named[`weight_hh${at}`] = [rows, hiddenColumns(descriptor)]
      named[`bias_ih${at}`] = [rows]
      named[`bias_hh${at}`] = [rows]
      if (descriptor.numProj !== undefined) named[`weight_hr${at}`] = [descriptor.numProj, H]
    }
    return named
  }
  const nameOf = ({ kind, side, pseudoLayer }: ParamRegion) => `${kind}_${SIDE_LETTERS[side]}${suffix(pseudoLayer)}`
  const place = (region: GateRegion) => {
    const position = gatePosition('pytorch', descriptor.cellMode, region.gate)
    const gateSize = region.kind === 'bias' ? H : H * matrixShape(region.shape)[1]
    return rowsAt(nameOf(region), position * gateSize, region)
  }
  const placeProjection = (region: ParamRegion) => rowsAt(nameOf(region), 0, region)
  const pseudoLayersPerGroup = numPseudoLayers(descriptor)
  return frameworkLayout(descriptor, { framework: 'pytorch', pseudoLayersPerGroup, shapes, place, placeProjection })
}

/**
 * Canonical parameters as the state dict of a PyTorch module ({@link pytorchLayout}).
 *
 * @example
 * ```ts
 * import { canonicalToPytorch, createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * const stateDict = canonicalToPytorch(descriptor, canonical)
 * console.log(Object.keys(stateDict)) // ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
 * ```
 */
export function canonicalToPytorch<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams<Data>,
): NamedTensors<Data> {
  return canonicalToFramework(descriptor, pytorchLayout(descriptor), canonical)[0]
}

/**
 * Canonical parameters from the state dict of a PyTorch module. Throws as `frameworkToCanonical`.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, elementCount, pytorchToCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const filled = (value: number, shape: readonly number[]) => {
 *   return { data: new Float32Array(elementCount(shape)).fill(value), shape }
 * }
 * const stateDict = { weight_ih_l0: filled(1, [16, 3]), weight_hh_l0: filled(2, [16, 4]) } // bias=False
 * const { weights, biases } = pytorchToCanonical(descriptor, stateDict)
 * console.log(weights[4]?.shape, weights[4]?.data[0], biases[0]?.data) // [4, 4] 2 [0, 0, 0, 0]
 * ```
 */
export function pytorchToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  stateDict: NamedTensors<Data>,
): CanonicalParams<Data> {
  return frameworkToCanonical(descriptor, pytorchLayout(descriptor), [stateDict])
}
