import { checkArguments, FLAG, fields, listOf, OBJECT, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import { checkDescriptor, createRnnDescriptor, outputSize } from '@cudnn-rnn/canonical'
import { NETWORK_FIELDS } from './network_to_export.js'
import type { ImportedNetwork } from './networks/interpretation.js'
import { refused, stackedInputs } from './stacked_inputs.js'

const NETWORKS = listOf(
  fields({
    ...NETWORK_FIELDS,
    reverse: optional(FLAG),
    inputs: optional(OBJECT),
    tensorNames: listOf(TEXT),
    notes: listOf(TEXT),
  }),
)

/**
 * One network of several that feed each other, as files that store layer by layer hold them.
 *
 * @param networks in the order of computation; the input of each is the output of the one before.
 * @returns the network, whose fixed inputs are all networks'.
 * @throws RangeError `ERR_STACK` for networks of different cells, units or directions, or sizes or inputs that do not fit
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 * import { exportWeights, importWeights, stackNetworks } from '@cudnn-rnn/rnn/interop'
 *
 * const backend = await openBackend('reference')
 * const layer = async (name: string, inputSize: number) => {
 *   const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize, inputMode: 'linear_input' })
 *   return { name, descriptor: gru.descriptor, canonical: await gru.paramsToCanonical(gru.createParams()) }
 * }
 * const file = await exportWeights([await layer('one', 3), await layer('two', 4)], { format: 'npz' })
 * const { networks } = await importWeights(file)
 * console.log(stackNetworks(networks).descriptor.numLayers) // 2
 * ```
 */
export function stackNetworks(networks: readonly ImportedNetwork[]): ImportedNetwork {
  checkArguments('stack networks', { networks }, { networks: NETWORKS })
  for (const { descriptor } of networks) checkDescriptor(descriptor)
  const [first] = networks
  if (first === undefined) throw refused('there must be at least one network', 0)
  let expected = first.descriptor.inputSize
  for (const [index, { descriptor, reverse, name }] of networks.entries()) {
    for (const key of ['cellMode', 'numUnits', 'direction', 'numProj', 'cellClip', 'biasMode'] as const) {
      if (descriptor[key] === first.descriptor[key]) continue
      throw refused(`every ${key} must be ${String(first.descriptor[key])}`, `${String(descriptor[key])} of ${name}`)
    }
    if (reverse) throw refused('every layer must read forward', `${name} reads backward`)
    if (descriptor.inputSize !== expected) {
      throw refused(`the input of ${name} must be the output before it, ${expected}`, descriptor.inputSize)
    }
    // Layers above the first always have input weights.
    if (index > 0 && descriptor.inputMode === 'skip_input') {
      throw refused('only the first network may skip its input weights', `skip_input of ${name}`)
    }
    expected = outputSize(descriptor)
  }
  const { cellMode, numUnits, inputSize, inputMode, direction, numProj, cellClip, biasMode } = first.descriptor
  const numLayers = networks.reduce((sum, { descriptor }) => sum + descriptor.numLayers, 0)
  return {
    name: networks.map(({ name }) => name).join('+'),
    convention: first.convention,
    descriptor: createRnnDescriptor({
      cellMode,
      numLayers,
      numUnits,
      inputSize,
      inputMode,
      direction,
      numProj,
      cellClip,
      biasMode,
    }),
    canonical: {
      weights: networks.flatMap(({ canonical }) => canonical.weights),
      biases: networks.flatMap(({ canonical }) => canonical.biases),
    },
    reverse: false,
    inputs: stackedInputs(networks),
    tensorNames: networks.flatMap(({ tensorNames }) => tensorNames),
    notes: [...new Set(networks.flatMap(({ notes }) => notes))],
  }
}
