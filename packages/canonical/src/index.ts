/**
 * Layout math of recurrent networks: cell modes, the RNN descriptor, the ordered list of parameter regions, and the
 * movement of canonical tensors to and from one flat buffer and the tensors of TensorFlow, PyTorch, Keras, Flax and ONNX. Pure
 * TypeScript: no files, no devices, no mathematics.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, flatLayout, packCanonical, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 3, inputSize: 2 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * console.log(canonical.weights[0]?.shape) // [3, 2]: the reset gate's input matrix
 * packCanonical(layout, canonical, new Float32Array(layout.size))
 * ```
 * @packageDocumentation
 */

export {
  type AbortSignalLike,
  type CodedError,
  describeValue,
  type ErrorCode,
  hasErrorCode,
} from '@cudnn-rnn/canonical/rules'
export { CELL_ACTIVATIONS, type CellActivation, type CellActivationName } from './cell_activation.js'
export { CELL_MODES, type CellMode, gatesOf } from './cell_mode.js'
export {
  hiddenColumns,
  layerInputSize,
  numDirections,
  numGates,
  numPseudoLayers,
  outputSize,
} from './dimensions.js'
export {
  flatLayout,
  type ParamLayout,
  type PlacedRegion,
} from './flat_layout.js'
export { canonicalToFlax, flaxToCanonical } from './frameworks/flax_layout.js'
export type { FrameworkLayout, Placement } from './frameworks/framework_layout.js'
export { canonicalToFramework, frameworkToCanonical, type NamedTensors } from './frameworks/framework_tensors.js'
export { type Framework, GATE_ORDERS, gatePosition } from './frameworks/gate_order.js'
export { canonicalToKeras, type KerasVariant, kerasToCanonical } from './frameworks/keras_layout.js'
export { canonicalToOnnx, ONNX_PEEPHOLES, onnxToCanonical } from './frameworks/onnx_layout.js'
export { canonicalToPytorch, pytorchToCanonical } from './frameworks/pytorch_layout.js'
export { canonicalToTensorflow, tensorflowLayout, tensorflowToCanonical } from './frameworks/tensorflow_layout.js'
export { Inspectable, type Summary } from './inspectable.js'
export { layoutKey } from './layout_key.js'
export { checkCanonical, packCanonical, unpackCanonical } from './packing.js'
export { type ParamRegion, type ParamRegions, paramRegions } from './param_regions.js'
export {
  BIAS_MODES,
  type BiasMode,
  checkDescriptor,
  createRnnDescriptor,
  DIRECTIONS,
  type Direction,
  INPUT_MODES,
  type InputMode,
  type RnnDescriptor,
  type RnnOptions,
} from './rnn_descriptor.js'
export {
  type CanonicalParams,
  elementCount,
  type FloatArray,
  type Tensor,
} from './tensor.js'
