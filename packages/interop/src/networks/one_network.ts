import type { CanonicalParams } from '@cudnn-rnn/canonical'
import type { ImportedNetwork, Interpretation } from './interpretation.js'
import type { SharedParameters } from './shared_parameters.js'

interface OneNetwork
  extends Omit<Interpretation, 'cellMode' | 'result'>,
    Pick<ImportedNetwork, 'descriptor'>,
    Partial<Pick<ImportedNetwork, 'reverse' | 'notes'>> {
  /** Reads the tensors and puts them in order. */
  readonly canonical: (shared: SharedParameters) => Promise<CanonicalParams>
}

/** An interpretation of tensors as one network that a model computes. */
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
