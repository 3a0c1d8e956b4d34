import {
  type ImportedCell,
  type ImportedNetwork,
  type ImportedWeights,
  type ImportOptions,
  importWeights,
} from '@cudnn-rnn/rnn'
import { type Convention, isWeightFileError, stackNetworks } from '@cudnn-rnn/rnn/interop'
import { codedRangeError } from './coded_error.js'

/** Options of the command line that say how tensors are to be read. */
export interface ReadAsOptions {
  readonly as?: Convention
  readonly cell?: ImportOptions['cellMode']
  readonly direction?: ImportOptions['direction']
  readonly forgetBias?: string
}

/** The flags of the options that decide between readings. */
const FLAGS = { convention: '--as', cellMode: '--cell', direction: '--direction' } as const

/**
 * Imports a file as the command line says.
 *
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_WEIGHTS_AMBIGUOUS` with the flags that decide; what `importWeights` throws
 */
export async function importAs(
  path: string,
  options: ReadAsOptions,
  format?: ImportOptions['format'],
): Promise<ImportedWeights> {
  try {
    return await importWeights(path, { ...readAs(options), format })
  } catch (error) {
    if (!isWeightFileError(error, 'ERR_WEIGHTS_AMBIGUOUS') || error.decidedBy.length === 0) throw error
    const flags = error.decidedBy.map((option) => FLAGS[option]).join(' or ')
    const readings = error.readings.map((reading) => `\n  ${reading}`).join('')
    const message = `Cannot import ${path} as it leaves open how its tensors are read: say which by ${flags}${readings}`
    throw Object.assign(codedRangeError(error.code, message), { cause: error })
  }
}

function readAs({ as, cell, direction, forgetBias }: ReadAsOptions): ImportOptions {
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
export function selectNetworks(
  { networks, cells }: Pick<ImportedWeights, 'networks' | 'cells'>,
  stack: string | undefined,
): ImportedNetwork[] {
  const names = networks.map(({ name }) => name).join(', ')
  if (networks.length === 0) throw noNetwork(cells)
  if (stack === undefined) return [...networks]
  const wanted = stack.split(',').map((name) => {
    const network = networks.find((candidate) => candidate.name === name.trim())
    if (network !== undefined) return network
    throw codedRangeError('ERR_NO_NETWORK', `Cannot stack as there is no network ${name}: there are ${names}`)
  })
  return [stackNetworks(wanted)]
}

function noNetwork(cells: readonly ImportedCell[]): RangeError {
  const found = cells.map(({ name, cell }) => `${name}, which only ${cell} computes`).join('; ')
  const rule = 'Cannot write networks as the file must hold one that a model computes'
  return codedRangeError('ERR_NO_NETWORK', `${rule}: current value is ${found || 'none'}`)
}

/** `lstm, 2 × 128 units, input 257, from keras`. */
export function describeNetwork({ descriptor, convention, reverse }: ImportedNetwork): string {
  const { cellMode, numLayers, numUnits, inputSize, direction, numProj } = descriptor
  const projection = numProj === undefined ? '' : `, projection ${numProj}`
  const both = direction === 'bidirectional' ? ', bidirectional' : ''
  const backward = reverse ? ', reading backward' : ''
  return `${cellMode}, ${numLayers} × ${numUnits} units, input ${inputSize}${projection}${both}${backward}, from ${convention}`
}
