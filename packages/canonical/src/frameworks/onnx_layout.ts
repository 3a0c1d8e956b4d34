import { checkIsObject } from '@cudnn-rnn/canonical/rules'
import { layerInputSize, numDirections, numGates } from '../dimensions.js'
import type { GateRegion } from '../param_regions.js'
import { checkDescriptor, type RnnDescriptor } from '../rnn_descriptor.js'
import type { CanonicalParams, FloatArray } from '../tensor.js'
import { type FrameworkLayout, frameworkLayout, matrixShape, rowsAt } from './framework_layout.js'
import {
  canonicalToFramework,
  frameworkToCanonical,
  type NamedTensors,
  refuseResetBefore,
} from './framework_tensors.js'
import { gatePosition } from './gate_order.js'

/** Order of the peepholes `P` [D,3H] of an ONNX LSTM node; no model has them, only TensorFlow's block cells. */
export const ONNX_PEEPHOLES = Object.freeze(['input', 'output', 'forget'] as const)

/**
 * The weights of ONNX `LSTM`, `GRU` and `RNN` nodes, one record per layer: `W` [D,G·H,in], `R` [D,G·H,H] and `B`
 * [D,2·G·H] (all input-side biases, then all recurrent ones). Gates i,o,f,c and z,r,h. Lossless.
 *
 * A GRU node must carry `linear_before_reset=1`. Source: ONNX `defs/rnn/defs.cc`.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export function onnxLayout(descriptor: RnnDescriptor): FrameworkLayout {
  checkDescriptor(descriptor)
  const H = descriptor.numUnits
  const directions = numDirections(descriptor)
  const gateRows = numGates(descriptor) * H

  const shapes = (layer: number) => ({
    W: [directions, gateRows, layerInputSize(descriptor, layer)],
    R: [directions, gateRows, H],
    B: [directions, 2 * gateRows],
  })
  const place = (region: GateRegion) => {
    const { direction, kind, side } = region
    const row = H * gatePosition('onnx', descriptor.cellMode, region.gate)
    if (kind === 'bias') return rowsAt('B', (2 * direction + (side === 'input' ? 0 : 1)) * gateRows + row, region)
    return rowsAt(side === 'input' ? 'W' : 'R', (direction * gateRows + row) * matrixShape(region.shape)[1], region)
  }
  const pseudoLayersPerGroup = directions
  return frameworkLayout(descriptor, { framework: 'onnx', pseudoLayersPerGroup, shapes, place })
}

/**
 * Canonical parameters as the weights of ONNX nodes ({@link onnxLayout}); a GRU node needs `linear_before_reset=1`.
 *
 * @example
 * ```ts
 * import { canonicalToOnnx, createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 2, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * const nodes = canonicalToOnnx(descriptor, canonical)
 * console.log(nodes.map(({ W }) => W?.shape)) // [[1, 12, 3], [1, 12, 4]]
 * ```
 */
export function canonicalToOnnx<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams<Data>,
): NamedTensors<Data>[] {
  return canonicalToFramework(descriptor, onnxLayout(descriptor), canonical)
}

/**
 * Canonical parameters from the weights of ONNX nodes.
 *
 * @param options `linearBeforeReset` is the GRU node's attribute; left out it is 0, as in ONNX, and refused.
 * @throws as `frameworkToCanonical`; RangeError `ERR_GRU_RESET_BEFORE`
 * @example
 * ```ts
 * import { createRnnDescriptor, elementCount, onnxToCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const zeros = (shape: readonly number[]) => ({ data: new Float32Array(elementCount(shape)), shape })
 * const node = { W: zeros([1, 12, 3]), R: zeros([1, 12, 4]), B: zeros([1, 24]) }
 * const { weights, biases } = onnxToCanonical(descriptor, [node], { linearBeforeReset: 1 })
 * console.log(weights.length, biases.length, weights[0]?.shape) // 6 6 [4, 3]
 * ```
 */
export function onnxToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  nodes: readonly NamedTensors<Data>[],
  options: { readonly linearBeforeReset?: 0 | 1 | undefined } = {},
): CanonicalParams<Data> {
  checkDescriptor(descriptor)
  checkIsObject('convert ONNX tensors', 'options', options)
  const { linearBeforeReset = 0 } = options
  if (descriptor.cellMode === 'gru' && linearBeforeReset !== 1) {
    refuseResetBefore('onnx', 'linear_before_reset must be 1 (ONNX defaults to 0)', linearBeforeReset)
  }
  return frameworkToCanonical(descriptor, onnxLayout(descriptor), nodes)
}
