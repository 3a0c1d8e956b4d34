import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import { entryOf } from '@cudnn-rnn/canonical/rules'
import { type DetectedNetwork, detectedToCanonical, detectNetworks } from '@cudnn-rnn/saveable'
import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { flaxInterpretations } from './flax_names.js'
import { gateBlockInterpretations } from './gate_blocks.js'
import type { Convention, Interpretation, InterpretationOptions } from './interpretation.js'
import { kerasInterpretations } from './keras_interpretations.js'
import { oneNetwork, sizesInWords } from './made_interpretations.js'
import { onnxInterpretations } from './onnx_nodes.js'
import { pytorchInterpretations } from './pytorch_names.js'
import { readGroups } from './tensor_groups.js'
import { tensorflowInterpretations } from './tensorflow_names.js'

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

/** `numpy.savez(file, *arrays)` names arrays by their places. */
const NAME = /^arr_(\d+)$/

/** The weight lists of one layer by convention; entries after the first two may be absent. */
const LISTS = {
  keras: { names: ['kernel', 'recurrent_kernel', 'bias'], interpretations: kerasInterpretations },
  pytorch: {
    names: ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0'],
    interpretations: pytorchInterpretations,
  },
} as const

/**
 * Arrays without names, such as `model.get_weights()` of Keras or the values of a state dict, when they are the weights of
 * one layer. Which convention they follow is never guessed from their shapes.
 *
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` unless the option `convention` names one
 */
function unnamedInterpretations(file: WeightFile, { convention }: InterpretationOptions): Interpretation[] {
  const places = file.tensors.map((tensor) => ({ tensor, place: NAME.exec(tensor.name)?.[1] }))
  if (places.length < 2 || places.some(({ place }) => place === undefined)) return []
  const arrays = places.sort((a, b) => Number(a.place) - Number(b.place)).map(({ tensor }) => tensor)
  const fitting = Object.values(LISTS).flatMap(({ names, interpretations }) => {
    return arrays.length > names.length
      ? []
      : interpretations(renamed(file, arrays, names)).map((interpretation) => own(interpretation, arrays))
  })
  if (convention !== undefined) return fitting
  if (fitting.length === 0) return []
  const summaries = fitting.map(({ summary }) => summary)
  throw new WeightFileError(
    'ERR_WEIGHTS_AMBIGUOUS',
    `Cannot import weights as arrays without names do not say whose gate order they follow: their shapes fit ${summaries.join('; or ')}; and others may store them so. Name whose they are by the option convention`,
    { path: file.path, interpretations: summaries, decidedBy: ['convention'] },
  )
}

function renamed(file: WeightFile, arrays: readonly StoredTensor[], names: readonly string[]): WeightFile {
  return { ...file, tensors: arrays.map((tensor, index) => ({ ...tensor, name: names[index] ?? tensor.name })) }
}

function own(interpretation: Interpretation, arrays: readonly StoredTensor[]): Interpretation {
  return { ...interpretation, tensors: arrays }
}

/** The forms of saveables that are read here; variables of TensorFlow's cells are read by tensorflow_names.ts. */
const CONVENTIONS: Readonly<Partial<Record<DetectedNetwork['form'], Convention>>> = {
  default: 'canonical',
  'tf-1.2': 'tensorflow',
  'tf-1.3': 'tensorflow',
}

/**
 * Networks under the keys that saveables write: this project's, and TensorFlow's of 1.0 to 1.3. Plain RNNs do not say
 * whether they are tanh or relu, and in the keys of 1.2 two layers may look like two directions: an interpretation for each.
 */
function savedInterpretations(tensors: readonly StoredTensor[]): Interpretation[] {
  const named = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const networks = detectNetworks(tensors.map(({ name, shape }) => ({ key: name, shape })))
  return networks.flatMap((network) => {
    const convention = CONVENTIONS[network.form]
    if (convention === undefined) return []
    return network.structures.map((structure) => interpretationOf(network, structure, convention, named))
  })
}

function interpretationOf(
  network: DetectedNetwork,
  descriptor: RnnDescriptor,
  convention: Convention,
  tensors: ReadonlyMap<string, StoredTensor>,
): Interpretation {
  const { form, name, keys } = network
  const own = new Map(keys.map((key) => [key, entryOf(tensors, key)]))
  const words = sizesInWords(form === 'tf-1.3' ? 'tensorflow' : 'canonical', descriptor)
  return oneNetwork({
    name,
    convention,
    descriptor,
    direction: descriptor.direction,
    summary: form === 'default' ? words : `${words}, keys of ${form}`,
    tensors: [...own.values()],
    canonical: async () => {
      const [record] = await readGroups([own])
      return detectedToCanonical(network, descriptor, new Map(Object.entries(record)))
    },
  })
}
