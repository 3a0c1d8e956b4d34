import {
  checkArguments,
  fields,
  ITERABLE,
  integerFrom,
  listOf,
  MAP,
  madeIn,
  oneOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  checkDescriptor,
  elementCount,
  flatLayout,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { networkStructures } from './network_structures.js'
import { type ParsedKey, parseKey, scopesOfRelease13 } from './parsed_key.js'
import { NAMINGS } from './saveable.js'
import { type StorageForm, schemeOf } from './storage_form.js'

/** Tensors of a checkpoint that are the parameters of one recurrent network. */
export interface DetectedNetwork extends ParsedKey {
  readonly keys: readonly string[]
  /**
   * Every network of exactly these keys and sizes. Several if sizes are ambiguous (always for relu and tanh), none
   * if tensors are missing, or if nothing beside an opaque buffer describes its contents.
   */
  readonly structures: readonly RnnDescriptor[]
}

export interface NamedShape {
  readonly key: string
  readonly shape: readonly number[]
}

const NAMED_SHAPES = listOf(fields({ key: TEXT, shape: listOf(integerFrom(0)) }))
const NETWORK = fields({ form: oneOf([...NAMINGS, 'cells']), name: TEXT })

interface Group extends ParsedKey {
  readonly shapes: Map<string, readonly number[]>
}

/**
 * Finds the recurrent networks of a checkpoint by the names and shapes of its tensors, ordered by their first keys.
 *
 * @example
 * ```ts
 * import { detectNetworks } from '@cudnn-rnn/rnn/saveable'
 *
 * const scope = 'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell'
 * const networks = detectNetworks([
 *   { key: `${scope}/kernel`, shape: [6, 16] },
 *   { key: `${scope}/bias`, shape: [16] },
 * ])
 * for (const { form, structures } of networks) {
 *   console.log(form, ...structures.map(({ cellMode, numUnits }) => `${cellMode} ${numUnits}`)) // cells lstm 4
 * }
 * ```
 */
export function detectNetworks(tensors: Iterable<NamedShape>): DetectedNetwork[] {
  const { tensors: given } = checkArguments('detect networks', { tensors }, { tensors: ITERABLE })
  const { tensors: list } = checkArguments('detect networks', { tensors: [...given] }, { tensors: NAMED_SHAPES })
  const groups = groupsOf(list)
  const structures = new Map<Group, RnnDescriptor[]>()
  for (const group of groups) {
    const { form, name, shapes } = group
    if (form !== 'opaque') structures.set(group, networkStructures(form, name, shapes))
  }
  const byName = structuresByName(structures)
  return groups.map((group) => ({
    form: group.form,
    name: group.name,
    keys: [...group.shapes.keys()],
    structures: structures.get(group) ?? structuresBeside(group, byName),
  }))
}

/**
 * The canonical parameters of a detected network that is not `opaque`.
 *
 * @param structure one of the network's own.
 * @param tensors its tensors by their keys.
 * @throws RangeError as `tensorflowToCanonical`
 * @example
 * ```ts
 * import { CudnnGRU, openBackend, type Tensor } from '@cudnn-rnn/rnn'
 * import { detectedToCanonical, detectNetworks, RNNParamsSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = gru.createParams({ seed: 1 })
 * const encoder = new RNNParamsSaveable(gru.paramsToCanonical, gru.canonicalToParams, [params], 'encoder')
 * const tensors = (await encoder.tensors('default')) as ReadonlyMap<string, Tensor>
 * for (const network of detectNetworks([...tensors].map(([key, { shape }]) => ({ key, shape })))) {
 *   const [structure = gru.descriptor] = network.structures
 *   console.log(network.name, detectedToCanonical(network, structure, tensors).weights.length) // encoder 6
 * }
 * ```
 */
export function detectedToCanonical(
  network: DetectedNetwork,
  structure: RnnDescriptor,
  tensors: ReadonlyMap<string, Tensor>,
): CanonicalParams {
  checkArguments('read a detected network', { network, tensors }, { network: NETWORK, tensors: MAP })
  checkDescriptor(structure)
  const { form, name } = network
  return schemeOf(form as Exclude<StorageForm, 'opaque'>, name).fromKeys(structure, tensors)
}

function groupsOf(tensors: readonly NamedShape[]): Group[] {
  const of13 = scopesOfRelease13(tensors.map(({ key }) => key))
  const groups = new Map<string, Group>()
  for (const { key, shape } of tensors) {
    const parsed = parseKey(key, of13)
    if (parsed === undefined) continue
    const id = `${parsed.form}:${parsed.name}`
    madeIn(groups, id, () => ({ ...parsed, shapes: new Map() })).shapes.set(key, shape)
  }
  return [...groups.values()]
}

/** The structures of saved networks of cells, by their names. */
function structuresByName(saved: ReadonlyMap<Group, RnnDescriptor[]>): ReadonlyMap<string, readonly RnnDescriptor[]> {
  const cells = [...saved].filter(([{ form }]) => form === 'cells')
  return new Map(cells.map(([{ name }, structures]) => [name, structures]))
}

/**
 * The structures of networks whose parameters have the size of an opaque buffer and are near it: TensorFlow's layers save
 * them twice, within the layer's scope or in the scope around it.
 */
function structuresBeside(
  { name, shapes }: Group,
  byName: ReadonlyMap<string, readonly RnnDescriptor[]>,
): RnnDescriptor[] {
  const outer = name.split('/').slice(0, -1).join('/')
  const [shape] = shapes.values()
  if (shape === undefined) return []
  const size = elementCount(shape)
  return [...new Set([name, outer])]
    .flatMap((scope) => byName.get(scope) ?? [])
    .filter((descriptor) => flatLayout(descriptor).size === size)
}
