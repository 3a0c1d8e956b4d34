/**
 * Weights of other frameworks' files to and from canonical tensors: PyTorch, Keras, ONNX, TensorFlow, Flax, NumPy. This
 * package owns files and names; orders and layouts are in `@cudnn-rnn/canonical`.
 *
 * @example
 * ```ts
 * import { exportWeights, importWeights } from '@cudnn-rnn/rnn'
 * import { createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size).fill(0.1))
 * const bytes = await exportWeights([{ name: 'encoder', descriptor, canonical }], { format: 'safetensors' })
 *
 * const { format, networks, unusedTensors } = await importWeights(bytes)
 * console.log(format, networks[0]?.name, networks[0]?.descriptor.numUnits, unusedTensors.length)
 * // safetensors encoder 4 0
 * ```
 * @packageDocumentation
 */

// Reading

export { blobSource, memorySource } from '@cudnn-rnn/checkpoint'
export { type ImportedWeights, type ImportOptions, importWeights } from './import_weights.js'
export { CONVENTIONS, type Convention, type ImportedCell, type ImportedNetwork } from './networks/interpretation.js'
export { openWeightFile, type WeightInput } from './open_weight_file.js'
export { stackNetworks } from './stack_networks.js'
export type { StoredTensor } from './stored_tensor.js'
export { type OpenWeightFile, WEIGHT_FORMATS, type WeightFile, type WeightFormat } from './weight_file.js'

// Writing

export { EXPORT_FORMATS, type ExportFormat, exportWeights } from './export_weights.js'
export { encodeKerasArchive } from './files/keras_archive_writer.js'
export { encodeOnnxModel, type GraphToWrite, type NodeToWrite } from './files/onnx_encoder.js'
export type { NetworkToExport } from './network_to_export.js'

// Errors

export { WeightFileError } from './errors.js'
