import { hiddenColumns, layerInputSize, numDirections, numGates } from '../dimensions.js'
import type { GateRegion } from '../param_regions.js'
import { checkDescriptor, type RnnDescriptor } from '../rnn_descriptor.js'
import type { CanonicalParams, FloatArray } from '../tensor.js'
import { type FrameworkLayout, frameworkLayout, matrixShape, rowsAt, transposedAt } from './framework_layout.js'
import {
  canonicalToFramework,
  frameworkToCanonical,
  type NamedTensors,
  refuseResetBefore,
} from './framework_tensors.js'
import { gatePosition } from './gate_order.js'

/**
 * The variables of TensorFlow's cells, one record per pseudo-layer (forward before backward), h = P or H:
 *
 * - LSTM (`LSTMCell`, `BasicLSTMCell`, `LSTMBlockCell`, `LSTMBlockFusedCell`, `CudnnCompatibleLSTMCell`): `kernel`
 *   [in+h,4H], columns i,c,f,o, the rows of x above the rows of h; `bias` [4H]; with numProj `projection/kernel` [H,P].
 * - GRU (`CudnnCompatibleGRUCell`): `gates/kernel` [in+H,2H], columns reset, update; `gates/bias` [2H];
 *   `candidate/input_projection/{kernel,bias}` [in,H], [H]; `candidate/hidden_projection/{kernel,bias}` [H,H], [H].
 * - plain (`BasicRNNCell`): `kernel` [in+H,H], `bias` [H].
 *
 * One `bias` holds the sum of the two canonical ones. The forget bias that TensorFlow's cells add at run time (default
 * 1.0) is in no variable: run them with forget_bias 0, or add it to the forget gate's bias yourself.
 *
 * Source: `CudnnParamsFormatConverter` of TensorFlow 1.13–1.15.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`
 * @example
 * ```ts
 * import { createRnnDescriptor, tensorflowLayout } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 3 })
 * console.log(tensorflowLayout(descriptor).groups.map(({ shapes }) => shapes.kernel)) // [[7, 16], [8, 16]]
 * ```
 */
export function tensorflowLayout(descriptor: RnnDescriptor): FrameworkLayout {
  checkDescriptor(descriptor)
  const H = descriptor.numUnits
  const P = descriptor.numProj
  const inputOf = (pseudoLayer: number) =>
    layerInputSize(descriptor, Math.floor(pseudoLayer / numDirections(descriptor)))
  const isGru = descriptor.cellMode === 'gru'
  // The GRU's first two gates share a kernel; the third has its own.
  const width = H * (isGru ? 2 : numGates(descriptor))

  const shapes = (pseudoLayer: number) => {
    const input = inputOf(pseudoLayer)
    const kernel = [input + hiddenColumns(descriptor), width]
    if (!isGru) return { kernel, bias: [width], ...(P !== undefined && { 'projection/kernel': [H, P] }) }
    return {
      'gates/kernel': kernel,
      'gates/bias': [width],
      'candidate/input_projection/kernel': [input, H],
      'candidate/input_projection/bias': [H],
      'candidate/hidden_projection/kernel': [H, H],
      'candidate/hidden_projection/bias': [H],
    }
  }
  const place = (region: GateRegion) => {
    const { gate, kind, side } = region
    if (isGru && gate === 'new_memory') {
      const scope = `candidate/${side === 'input' ? 'input' : 'hidden'}_projection`
      return kind === 'bias' ? rowsAt(`${scope}/bias`, 0, region) : transposedAt(`${scope}/kernel`, 0, H, region)
    }
    const scope = isGru ? 'gates/' : ''
    const column = H * gatePosition('tensorflow', descriptor.cellMode, gate)
    if (kind === 'bias') return rowsAt(`${scope}bias`, column, region)
    const firstRow = side === 'input' ? 0 : inputOf(region.pseudoLayer)
    return transposedAt(`${scope}kernel`, firstRow * width + column, width, region)
  }
  return frameworkLayout(descriptor, {
    framework: 'tensorflow',
    pseudoLayersPerGroup: 1,
    shapes,
    place,
    placeProjection: (region) => transposedAt('projection/kernel', 0, matrixShape(region.shape)[0], region),
  })
}

/**
 * Canonical parameters as the variables of TensorFlow's cells ({@link tensorflowLayout}); lossy: biases are summed.
 *
 * @example
 * ```ts
 * import { canonicalToTensorflow, createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size).fill(1))
 * const [cell] = canonicalToTensorflow(descriptor, canonical)
 * console.log(cell?.kernel?.shape, cell?.bias?.shape, cell?.bias?.data[0]) // [7, 16] [16] 2
 * ```
 */
export function canonicalToTensorflow<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams<Data>,
): NamedTensors<Data>[] {
  return canonicalToFramework(descriptor, tensorflowLayout(descriptor), canonical)
}

/**
 * Canonical parameters from the variables of TensorFlow's cells; each canonical bias gets half of a summed one.
 *
 * @throws as `frameworkToCanonical`; RangeError `ERR_GRU_RESET_BEFORE` for the variables of `GRUCell` or `GRUBlockCell`
 * @example
 * ```ts
 * import { createRnnDescriptor, tensorflowToCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * const kernel = { data: Float32Array.of(2, 5), shape: [2, 1] }
 * const bias = { data: Float32Array.of(6), shape: [1] }
 * const { weights, biases } = tensorflowToCanonical(descriptor, [{ kernel, bias }])
 * console.log(weights[0]?.data, weights[1]?.data, biases[0]?.data) // [2] [5] [3]
 * ```
 */
export function tensorflowToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  cells: readonly NamedTensors<Data>[],
): CanonicalParams<Data> {
  checkDescriptor(descriptor)
  for (const cell of descriptor.cellMode === 'gru' && Array.isArray(cells) ? cells : []) {
    const found = ['candidate/kernel', 'w_c'].find((name) => Object.hasOwn(cell ?? {}, name))
    if (found !== undefined)
      refuseResetBefore('tensorflow', 'only CudnnCompatibleGRUCell resets after the product', found)
  }
  return frameworkToCanonical(descriptor, tensorflowLayout(descriptor), cells)
}
