import {
  checkDescriptor,
  createRnnDescriptor,
  describeValue,
  elementCount,
  type FloatArray,
  numPseudoLayers,
  outputSize,
  type Tensor,
} from '@cudnn-rnn/canonical'
import {
  checkArguments,
  codedRangeError,
  FLAG,
  fields,
  listOf,
  OBJECT,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { NETWORK_FIELDS } from './network_to_export.js'
import type { FixedInputs, ImportedNetwork } from './networks/interpretation.js'

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
  const { networks: own } = checkArguments('stack networks', { networks }, { networks: NETWORKS })
  for (const { descriptor } of own) checkDescriptor(descriptor)
  const [first] = own
  if (first === undefined) throw refused('there must be at least one network', 0)
  let expected = first.descriptor.inputSize
  for (const [index, { descriptor, reverse, name }] of own.entries()) {
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
  const numLayers = own.reduce((sum, { descriptor }) => sum + descriptor.numLayers, 0)
  return {
    name: own.map(({ name }) => name).join('+'),
    convention: first.convention,
    descriptor: createRnnDescriptor({ ...first.descriptor, numLayers, dropout: 0, seed: 0 }),
    canonical: {
      weights: own.flatMap(({ canonical }) => canonical.weights),
      biases: own.flatMap(({ canonical }) => canonical.biases),
    },
    reverse: false,
    inputs: stackedInputs(own),
    tensorNames: own.flatMap(({ tensorNames }) => tensorNames),
    notes: [...new Set(own.flatMap(({ notes }) => notes))],
  }
}

/**
 * The fixed inputs of a stack's networks, as the whole has them: states one after another, zeros for a network that begins
 * in zeros, and the lengths that all have.
 *
 * @throws RangeError `ERR_STACK` for states of unequal rows or columns, and for unequal lengths
 */
function stackedInputs(networks: readonly ImportedNetwork[]): FixedInputs {
  const initialH = stackedStates(networks, 'initialH')
  const initialC = stackedStates(networks, 'initialC')
  const [first] = networks
  const lengths = first?.inputs?.sequenceLengths
  for (const { name, inputs } of networks) {
    if (String(inputs?.sequenceLengths) === String(lengths)) continue
    throw refused(`every network must have the sequenceLengths ${lengths}`, `${inputs?.sequenceLengths} of ${name}`)
  }
  return {
    ...(initialH !== undefined && { initialH }),
    ...(initialC !== undefined && { initialC }),
    ...(lengths !== undefined && { sequenceLengths: [...lengths] }),
  }
}

/** The states [L·D,B,·] of one kind; undefined if all networks begin in zeros. */
function stackedStates(
  networks: readonly ImportedNetwork[],
  kind: 'initialH' | 'initialC',
): Tensor<FloatArray> | undefined {
  const given = networks.flatMap(({ inputs }) => inputs?.[kind] ?? [])
  const [first] = given
  if (first === undefined) return undefined
  const sizes = first.shape.slice(1)
  const size = elementCount(sizes)
  const layers = networks.map(({ descriptor }) => numPseudoLayers(descriptor))
  const total = layers.reduce((sum, each) => sum + each, 0)
  const isDouble = given.every(({ data }) => data instanceof Float64Array)
  const data = isDouble ? new Float64Array(total * size) : new Float32Array(total * size)
  let layer = 0
  for (const [index, { name, inputs }] of networks.entries()) {
    const state = inputs?.[kind]
    const own = layers[index] ?? 0
    if (state !== undefined) {
      if (String(state.shape) !== String([own, ...sizes])) {
        throw refused(`the ${kind} of ${name} must have shape [${[own, ...sizes]}]`, `[${state.shape}]`)
      }
      data.set(state.data, layer * size)
    }
    layer += own
  }
  return { data, shape: [total, ...sizes] }
}

function refused(rule: string, value: unknown) {
  const message = `Cannot stack networks as ${rule}: current value is ${describeValue(value)}`
  return codedRangeError('ERR_STACK', message, { value })
}
