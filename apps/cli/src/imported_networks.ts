import type { Convention, ImportedNetwork, ImportOptions } from '@cudnn-rnn/rnn'
import { stackNetworks } from '@cudnn-rnn/rnn'
import { codedRangeError } from './coded_error.js'

/** Options of the command line that say how tensors are to be read. */
export interface ReadAsOptions {
  readonly as?: Convention
  readonly cell?: ImportOptions['cellMode']
  readonly direction?: ImportOptions['direction']
  readonly forgetBias?: string
}

/** The options as `importWeights` takes them. Throws RangeError `ERR_INVALID_OPTION`. */
export function readAs({ as, cell, direction, forgetBias }: ReadAsOptions): ImportOptions {
  const bias = forgetBias === undefined ? undefined : Number(forgetBias)
  if (bias !== undefined && !Number.isFinite(bias)) {
    throw codedRangeError('ERR_INVALID_OPTION', `Cannot import as --forget-bias must be a number: ${forgetBias}`)
  }
  return { convention: as, cellMode: cell, direction, forgetBias: bias }
}

/**
 * All networks, or with `stack` the one that those of these names make together.
 *
 * @throws RangeError `ERR_NO_NETWORK` when there is none, or none of a name
 */
export function selectNetworks(networks: readonly ImportedNetwork[], stack: string | undefined): ImportedNetwork[] {
  const names = networks.map(({ name }) => name).join(', ')
  if (networks.length === 0) {
    throw codedRangeError('ERR_NO_NETWORK', 'Cannot go on as no recurrent network was recognised in the file')
  }
  if (stack === undefined) return [...networks]
  const wanted = stack.split(',').map((name) => {
    const network = networks.find((candidate) => candidate.name === name.trim())
    if (network !== undefined) return network
    throw codedRangeError('ERR_NO_NETWORK', `Cannot stack as there is no network ${name}: there are ${names}`)
  })
  return [stackNetworks(wanted)]
}

/** `lstm, 2 × 128 units, input 257, from keras`. */
export function describeNetwork({ descriptor, convention, reverse }: ImportedNetwork): string {
  const { cellMode, numLayers, numUnits, inputSize, direction, numProj } = descriptor
  const projection = numProj === undefined ? '' : `, projection ${numProj}`
  const both = direction === 'bidirectional' ? ', bidirectional' : ''
  const backward = reverse ? ', reading backward' : ''
  return `${cellMode}, ${numLayers} × ${numUnits} units, input ${inputSize}${projection}${both}${backward}, from ${convention}`
}
