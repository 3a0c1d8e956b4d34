import { type CellMode, createRnnDescriptor, gatesOf, pytorchToCanonical, type RnnOptions } from '@cudnn-rnn/canonical'
import { listIn } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation } from './interpretation.js'
import { oneNetwork, refusedInterpretation, sizesInWords } from './made_interpretations.js'
import { groupTensors, isMatrix, type StoredGroup } from './tensor_groups.js'
import { scopesOf } from './tensor_scopes.js'

/** `[<module>.]weight_ih_l<k>[_reverse]` of `nn.LSTM`, `nn.GRU`, `nn.RNN`; without `_l<k>` of the cells. */
const NAME = /^(?:(.*)\.)?((?:weight|bias)_(?:ih|hh)|weight_hr)(?:_l(\d+)(_reverse)?)?$/

/** Modes of one number of gates are in the order in which they are offered: torch.nn.RNN is tanh by default. */
const MODES: readonly CellMode[] = ['lstm', 'gru', 'rnn_tanh', 'rnn_relu']

/** Tensors of weight_norm, spectral_norm and pruning, from which a module computes a weight. */
const PART =
  /^(?:(.*?)\.)??(?:parametrizations\.)?((?:weight|bias)_(?:ih|hh|hr)(?:_l\d+(?:_reverse)?)?)(?:_(?:g|v|orig|mask)|\.original\d*)$/

/** Networks under the names of PyTorch's modules. A plain RNN may be tanh or relu: two interpretations. */
export function pytorchInterpretations({ path, tensors }: Pick<WeightFile, 'path' | 'tensors'>): Interpretation[] {
  const groups = groupTensors(tensors, splitName)
  const copies = takeRawWeights(groups, tensors)
  const parts = new Map<string, StoredTensor[]>()
  for (const tensor of tensors) {
    const match = PART.exec(tensor.name)
    if (match === null) continue
    const prefix = match[1] ?? ''
    listIn(parts, prefix).push(tensor)
  }
  return [
    ...groups
      .filter(({ prefix }) => !parts.has(prefix))
      .flatMap((group) => interpretationsOf(group, copies.get(group) ?? [])),
    ...[...parts].map(([prefix, members]) => computedInterpretation(path, prefix, members)),
  ]
}

function splitName(name: string): readonly [prefix: string, own: string] | undefined {
  const match = NAME.exec(name)
  if (match === null) return undefined
  const [, prefix = '', kind, layer = '0', reverse = ''] = match
  return [prefix, `${kind}_l${layer}${reverse}`]
}

/**
 * Weight drop (AWD-LSTM) keeps a matrix as `weight_hh_l0_raw`, in its module or around it, and drops elements of a copy while
 * it trains: in inference the matrix is the raw one, also if a copy of the last step is stored.
 *
 * @returns the copies of each module.
 */
function takeRawWeights(
  groups: readonly StoredGroup[],
  tensors: readonly StoredTensor[],
): Map<StoredGroup, StoredTensor[]> {
  const byPrefix = new Map(groups.map((group) => [group.prefix, group]))
  const copies = new Map<StoredGroup, StoredTensor[]>()
  for (const tensor of tensors) {
    if (!tensor.name.endsWith(RAW)) continue
    const [prefix, own] = splitName(tensor.name.slice(0, -RAW.length)) ?? []
    if (prefix === undefined || own === undefined) continue
    const module = byPrefix.get(prefix) ?? byPrefix.get(prefix === '' ? 'module' : `${prefix}.module`)
    if (module === undefined) continue
    const copy = module.tensors.get(own)
    module.tensors.set(own, tensor)
    if (copy !== undefined) listIn(copies, module).push(copy)
  }
  return copies
}

const RAW = '_raw'

/** A module that computes its weights from others. */
function computedInterpretation(path: string, name: string, tensors: readonly StoredTensor[]): Interpretation {
  const weight = PART.exec(tensors[0]?.name ?? '')?.[2]
  const reason = `its ${weight} must be stored: current tensors are ${tensors.map((tensor) => tensor.name).join(', ')}, from which weight_norm, spectral_norm or pruning computes it. Remove these (remove_weight_norm, remove_parametrizations, prune.remove) before you save`
  return refusedInterpretation(path, name, reason, tensors, 'pytorch')
}

function interpretationsOf({ prefix, tensors }: StoredGroup, copies: readonly StoredTensor[]): Interpretation[] {
  const sizes = sizesOf(tensors)
  if (sizes === undefined) return []
  return sizes.modes.map((cellMode) => {
    const descriptor = createRnnDescriptor({ ...sizes.options, cellMode, inputMode: 'linear_input' })
    const stored = [...tensors.values()]
    return oneNetwork({
      name: prefix,
      convention: 'pytorch',
      descriptor,
      summary: sizesInWords('pytorch', descriptor),
      tensors: stored,
      scopes: scopesOf(stored),
      ...(copies.length > 0 && { alsoUses: copies }),
      canonical: (shared) => shared.canonical(descriptor, tensors, (named) => pytorchToCanonical(descriptor, named)),
      notes: tensors.has('bias_ih_l0') ? [] : ['Biases are absent and were taken as zeros.'],
    })
  })
}

function sizesOf(
  tensors: ReadonlyMap<string, StoredTensor>,
): { readonly modes: readonly CellMode[]; readonly options: Omit<RnnOptions, 'cellMode'> } | undefined {
  const input = tensors.get('weight_ih_l0')?.shape
  const recurrent = tensors.get('weight_hh_l0')?.shape
  const projection = tensors.get('weight_hr_l0')?.shape
  if (!isMatrix(input) || !isMatrix(recurrent)) return undefined
  const numUnits = projection?.[1] ?? recurrent[1]
  // Only torch.nn.LSTM has projections.
  const modes = MODES.filter(
    (mode) => gatesOf(mode).length === recurrent[0] / numUnits && (projection === undefined || mode === 'lstm'),
  )
  if (modes.length === 0 || input[1] < 1) return undefined
  let numLayers = 0
  for (const own of tensors.keys()) numLayers = Math.max(numLayers, 1 + Number(/_l(\d+)/.exec(own)?.[1]))
  // A file cannot have more layers than matrices, for any names.
  if (2 * numLayers > tensors.size) return undefined
  const direction = tensors.has('weight_ih_l0_reverse') ? 'bidirectional' : 'unidirectional'
  return { modes, options: { numLayers, numUnits, inputSize: input[1], direction, numProj: projection?.[0] } }
}
