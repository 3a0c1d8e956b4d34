import type { WeightFile } from '../weight_file.js'
import { kerasReadings } from './keras_names.js'
import { pytorchReadings } from './pytorch_names.js'
import type { Reading, ReadingOptions } from './reading.js'

/** Every way to read networks in a file, whoever named its tensors. */
export function networkReadings(file: WeightFile, _options: ReadingOptions): Reading[] {
  return [...pytorchReadings(file.tensors), ...kerasReadings(file)]
}
