import type { WeightFile } from '../weight_file.js'
import { flaxReadings } from './flax_names.js'
import { kerasReadings } from './keras_readings.js'
import { onnxReadings } from './onnx_nodes.js'
import { pytorchReadings } from './pytorch_names.js'
import type { Reading, ReadingOptions } from './reading.js'
import { savedReadings } from './saved_names.js'
import { tensorflowReadings } from './tensorflow_names.js'
import { unnamedReadings } from './unnamed_arrays.js'

/** Every way to read networks in a file, whoever named its tensors. */
export function networkReadings(file: WeightFile, options: ReadingOptions): Reading[] {
  const saved = savedReadings(file.tensors)
  // TensorFlow 1.3 saved its cells' variables and, beside their sum, both biases: that says more than the cells alone.
  const owned = new Set(saved.flatMap(({ tensors }) => tensors))
  return [
    ...onnxReadings(file, options),
    ...pytorchReadings(file),
    ...kerasReadings(file),
    ...tensorflowReadings(
      file.tensors.filter((tensor) => !owned.has(tensor)),
      options,
    ),
    ...flaxReadings(file.tensors),
    ...saved,
    ...unnamedReadings(file, options),
  ]
}
