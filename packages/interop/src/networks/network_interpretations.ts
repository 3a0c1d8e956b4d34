import type { WeightFile } from '../weight_file.js'
import { flaxInterpretations } from './flax_names.js'
import { gateBlockInterpretations } from './gate_blocks.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'
import { kerasInterpretations } from './keras_interpretations.js'
import { onnxInterpretations } from './onnx_nodes.js'
import { pytorchInterpretations } from './pytorch_names.js'
import { savedInterpretations } from './saved_names.js'
import { tensorflowInterpretations } from './tensorflow_names.js'
import { unnamedInterpretations } from './unnamed_arrays.js'

/** Every interpretation of the tensors of a file, by any framework's names. */
export function networkInterpretations(file: WeightFile, options: InterpretationOptions): Interpretation[] {
  const saved = savedInterpretations(file.tensors)
  // TensorFlow 1.3 saved its cells' variables and, beside their sum, both biases: they preserve more than the cells alone.
  const owned = new Set(saved.flatMap(({ tensors }) => tensors))
  return [
    ...onnxInterpretations(file, options),
    ...pytorchInterpretations(file),
    ...kerasInterpretations(file),
    ...tensorflowInterpretations(
      file.tensors.filter((tensor) => !owned.has(tensor)),
      options,
    ),
    ...flaxInterpretations(file.tensors),
    ...gateBlockInterpretations(file),
    ...saved,
    ...unnamedInterpretations(file, options),
  ]
}
