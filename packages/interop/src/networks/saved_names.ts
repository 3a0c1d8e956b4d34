import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import { entryOf } from '@cudnn-rnn/canonical/rules'
import { type DetectedNetwork, detectedToCanonical, detectNetworks } from '@cudnn-rnn/saveable'
import type { StoredTensor } from '../stored_tensor.js'
import type { Convention, Interpretation } from './interpretation.js'
import { oneNetwork, sizesInWords } from './made_interpretations.js'
import { readGroups } from './tensor_groups.js'

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
export function savedInterpretations(tensors: readonly StoredTensor[]): Interpretation[] {
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
