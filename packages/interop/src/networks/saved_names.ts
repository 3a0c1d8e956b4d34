import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import { type RecognisedNetwork, recognisedToCanonical, recogniseNetworks } from '@cudnn-rnn/saveable'
import type { StoredTensor } from '../weight_file.js'
import type { Convention, Reading } from './reading.js'
import { sizesInWords } from './sizes_in_words.js'
import { readGroups } from './tensor_groups.js'

/** The forms of saveables that are read here; variables of TensorFlow's cells are read by tensorflow_names.ts. */
const CONVENTIONS: Readonly<Partial<Record<RecognisedNetwork['form'], Convention>>> = {
  default: 'canonical',
  'tf-1.2': 'tensorflow',
  'tf-1.3': 'tensorflow',
}

/**
 * Networks under the keys that saveables write: this project's, and those of TensorFlow 1.0 to 1.3. Plain RNNs do not say
 * whether they are tanh or relu, and in the keys of 1.2 two layers may look like two directions: a reading for each.
 */
export function savedReadings(tensors: readonly StoredTensor[]): Reading[] {
  const named = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const networks = recogniseNetworks(tensors.map(({ name, shape }) => ({ key: name, shape })))
  return networks.flatMap((network) => {
    const convention = CONVENTIONS[network.form]
    if (convention === undefined) return []
    return network.structures.map((structure) => readingOf(network, structure, convention, named))
  })
}

function readingOf(
  network: RecognisedNetwork,
  descriptor: RnnDescriptor,
  convention: Convention,
  tensors: ReadonlyMap<string, StoredTensor>,
): Reading {
  const { form, name, keys } = network
  const own = new Map(keys.map((key) => [key, tensors.get(key)!]))
  const { cellMode, direction } = descriptor
  const words = sizesInWords(form === 'tf-1.3' ? 'tensorflow' : 'canonical', descriptor)
  return {
    name,
    convention,
    cellMode,
    direction,
    summary: form === 'default' ? words : `${words}, keys of ${form}`,
    tensors: [...own.values()],
    result: async () => {
      const [record] = await readGroups([own])
      const canonical = recognisedToCanonical(network, descriptor, new Map(Object.entries(record!)))
      return [{ name, convention, descriptor, canonical, reverse: false, inputs: {}, tensorNames: keys, notes: [] }]
    },
  }
}
