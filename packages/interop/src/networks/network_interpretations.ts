import type { StoredTensor } from '../stored_tensor.js'
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

/**
 * Every interpretation of the tensors of a file, by any framework's names. The nodes of a graph decide over names.
 *
 * @param sharedOf the tensor in `file` for one of the opened file.
 */
export async function networkInterpretations(
  whole: WeightFile,
  options: InterpretationOptions,
  sharedOf: (tensor: StoredTensor) => StoredTensor,
): Promise<Interpretation[]> {
  const nodes = await onnxInterpretations(whole, options, sharedOf)
  const file = options.convention === undefined ? withoutWeightsOf(nodes, whole) : whole
  const saved = savedInterpretations(file.tensors)
  // TensorFlow 1.3 saved its cells' variables and, beside their sum, both biases: they preserve more than the cells alone.
  const owned = new Set(saved.flatMap(({ tensors }) => tensors))
  return [
    ...nodes,
    ...pytorchInterpretations(file),
    ...kerasInterpretations(file),
    ...tensorflowInterpretations({ ...file, tensors: file.tensors.filter((tensor) => !owned.has(tensor)) }, options),
    ...flaxInterpretations(file),
    ...gateBlockInterpretations(file),
    ...saved,
    ...unnamedInterpretations(file, options),
  ]
}

function withoutWeightsOf(nodes: readonly Interpretation[], file: WeightFile): WeightFile {
  const taken = new Set(nodes.flatMap(({ alsoUses = [] }) => alsoUses))
  return taken.size === 0 ? file : { ...file, tensors: file.tensors.filter((tensor) => !taken.has(tensor)) }
}
