import type { WeightFile } from '../weight_file.js'
import { canonicalReadings } from './canonical_names.js'
import { flaxReadings } from './flax_names.js'
import { kerasReadings } from './keras_names.js'
import { onnxReadings } from './onnx_nodes.js'
import { pytorchReadings } from './pytorch_names.js'
import type { Reading, ReadingOptions } from './reading.js'
import { tensorflowReadings } from './tensorflow_names.js'
import { unnamedReadings } from './unnamed_arrays.js'

/** Every way to read networks in a file, whoever named its tensors. */
export function networkReadings(file: WeightFile, options: ReadingOptions): Reading[] {
  return [
    ...onnxReadings(file, options),
    ...pytorchReadings(file.tensors),
    ...kerasReadings(file),
    ...tensorflowReadings(file.tensors, options),
    ...flaxReadings(file.tensors),
    ...canonicalReadings(file.tensors),
    ...unnamedReadings(file, options),
  ]
}
