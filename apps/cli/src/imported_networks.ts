import { numberOfText } from '@cudnn-rnn/canonical/rules'
import {
  type ImportedCell,
  type ImportedNetwork,
  type ImportedWeights,
  type ImportOptions,
  importWeights,
} from '@cudnn-rnn/rnn'
import { type Convention, type NetworkToExport, stackNetworks, WeightFileError } from '@cudnn-rnn/rnn/interop'
import { codedRangeError } from './coded_error.js'

/** Options of the command line that say how tensors are to be read. */
export interface ReadAsOptions {
  readonly as?: Convention
  readonly cell?: ImportOptions['cellMode']
  readonly direction?: ImportOptions['direction']
  readonly forgetBias?: string
}

/** Options of the command line that say which networks are wanted; names have commas between. */
export interface SelectOptions {
  readonly network?: string
  readonly stack?: string
}

/** The flags of the options that decide between interpretations. */
const FLAGS = { convention: '--as', cellMode: '--cell', direction: '--direction' } as const

/**
 * Imports a file with the options of the command line.
 *
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_WEIGHTS_AMBIGUOUS` with the flags that decide; the errors of `importWeights`
 */
export async function importAs(
  path: string,
  options: ReadAsOptions & SelectOptions,
  format?: ImportOptions['format'],
): Promise<ImportedWeights> {
  const wanted = options.stack ?? options.network
  const only = wanted === undefined ? undefined : namesIn(wanted)
  try {
    return await importWeights(fileOf(path), { ...readAs(options), format, only })
  } catch (error) {
    if (!(error instanceof WeightFileError) || error.decidedBy.length === 0) throw error
    const flags = error.decidedBy.map((option) => FLAGS[option]).join(' or ')
    const interpretations = error.interpretations.map((interpretation) => `\n  ${interpretation}`).join('')
    const message = `Cannot import ${path} as it leaves open how its tensors are read: say which by ${flags}${interpretations}`
    throw codedRangeError(error.code, message, { cause: error })
  }
}

/** `a,b` as names. */
function namesIn(list: string): string[] {
  return list.split(',').map((name) => name.trim())
}

/** The prefix of a checkpoint that is named by one of its files. */
function fileOf(path: string): string {
  return path.replace(/\.(?:index|meta|data-\d{5}-of-\d{5})$/, '')
}

function readAs({ as, cell, direction, forgetBias }: ReadAsOptions): ImportOptions {
  const bias = forgetBias === undefined ? undefined : numberOfText(forgetBias)
  if (bias !== undefined && Number.isNaN(bias)) {
    throw codedRangeError('ERR_INVALID_OPTION', `Cannot import as --forget-bias must be a number: ${forgetBias}`)
  }
  return { convention: as, cellMode: cell, direction, forgetBias: bias }
}

/**
 * All networks, those that `network` names, or the one that those that `stack` names make together.
 *
 * @throws RangeError `ERR_NO_NETWORK` when there is none, or none of a name
 */
export function selectNetworks<Network extends NetworkToExport>(
  { networks, cells }: { readonly networks: readonly Network[]; readonly cells: readonly ImportedCell[] },
  { network, stack }: SelectOptions,
): Network[] {
  if (networks.length === 0) throw noNetwork(cells)
  const wanted = stack ?? network
  if (wanted === undefined) return [...networks]
  const names = networks.map(({ name }) => name).join(', ')
  return namesIn(wanted).map((name) => {
    const found = networks.find((candidate) => candidate.name === name)
    if (found !== undefined) return found
    throw codedRangeError('ERR_NO_NETWORK', `Cannot export as no network is named ${name}: networks are ${names}`)
  })
}

/** {@link selectNetworks} of a file; with `stack` one network. */
export function selectImported(imported: ImportedWeights, options: SelectOptions): ImportedNetwork[] {
  const networks = selectNetworks(imported, options)
  return options.stack === undefined ? networks : [stackNetworks(networks)]
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
