/**
 * The reader of ONNX graphs, for the other packages of this project. Internal: its names may change in any release.
 *
 * @packageDocumentation
 */
export { type ElementTypeName, newElements } from './elements.js'
export { ExternalFiles } from './files/external_files.js'
export { dataTypeInWords, dataTypeOf, OnnxElements } from './files/onnx_elements.js'
export { encodeNodeProto, encodeTensorProto, encodeValueInfo } from './files/onnx_encoder.js'
export {
  type OnnxAttribute,
  type OnnxGraphMessage,
  type OnnxModelMessage,
  type OnnxNodeMessage,
  type OnnxTensor,
  type OnnxValueMessage,
  scanOnnxModel,
} from './files/onnx_messages.js'
export { decodeOnnxLists } from './files/onnx_tensor.js'
export type { Elements } from './files/strided_elements.js'
export { kerasMajor } from './networks/keras_interpretations.js'
export { APART } from './networks/keras_description.js'
export { FOLDS, type Fold } from './networks/onnx_folds.js'
export { isRecurrent, isStandard } from './networks/onnx_operators.js'
export { openSource } from './open_weight_file.js'
