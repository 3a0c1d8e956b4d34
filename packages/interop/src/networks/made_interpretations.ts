import { type CanonicalParams, type Framework, GATE_ORDERS, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { Convention, ImportedNetwork, Interpretation } from './interpretation.js'
import type { SharedParameters } from './shared_parameters.js'

interface OneNetwork
  extends Omit<Interpretation, 'cellMode' | 'result'>,
    Pick<ImportedNetwork, 'descriptor'>,
    Partial<Pick<ImportedNetwork, 'reverse' | 'notes'>> {
  /** Reads the tensors and puts them in order. */
  readonly canonical: (shared: SharedParameters) => Promise<CanonicalParams>
}

export function oneNetwork(options: OneNetwork): Interpretation {
  const { descriptor, canonical, reverse = false, notes = [], ...interpretation } = options
  const { name, convention, tensors } = interpretation
  const tensorNames = tensors.map((tensor) => tensor.name)
  const network = { name, convention, descriptor, reverse, inputs: {}, tensorNames, notes }
  return {
    ...interpretation,
    cellMode: descriptor.cellMode,
    result: async (shared) => [{ ...network, canonical: await canonical(shared) }],
  }
}

/** A layer that is found and cannot be computed: importing it throws WeightFileError `ERR_WEIGHTS_OTHER_FUNCTION`. */
export function refusedInterpretation(
  path: string,
  name: string,
  reason: string,
  tensors: readonly StoredTensor[],
  convention: Convention,
): Interpretation {
  return {
    name,
    convention,
    cellMode: 'lstm',
    summary: `${convention} ${name}, which is refused: ${reason}`,
    tensors,
    result: async () => {
      throw new WeightFileError('ERR_WEIGHTS_OTHER_FUNCTION', `Cannot import ${name} as ${reason}`, { path })
    },
  }
}

/** An interpretation in words: `pytorch lstm (gates input, forget, new_memory, output), 2 × 4 units, input 3, bidirectional`. */
export function sizesInWords(framework: Framework | 'canonical' | 'haste', descriptor: RnnDescriptor): string {
  const { cellMode, numLayers, numUnits, inputSize, direction, numProj } = descriptor
  const order = GATE_ORDERS[framework === 'canonical' ? 'cudnn' : framework][cellMode]
  const gates = order.length === 1 ? '' : ` (gates ${order.join(', ')})`
  const projection = numProj === undefined ? '' : `, projection ${numProj}`
  const both = direction === 'bidirectional' ? ', bidirectional' : ''
  return `${framework} ${cellMode}${gates}, ${numLayers} × ${numUnits} units, input ${inputSize}${projection}${both}`
}
