import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { parseBoundedJson } from './bounded_json.js'
import { closingOnError } from './closing_on_error.js'
import { type Hdf5File, openHdf5 } from './hdf5_file.js'
import { ofKeras2 } from './keras1_layout.js'
import type { ZipArchive } from './zip_archive.js'

/** Models in models are a few levels deep; a layer has some dozen settings. */
export const CONFIG_LIMITS = { depth: 200, values: 2 ** 20 }

/** A variable of Keras 3. */
const NUMBERED = /^(.+)\/vars\/\d+$/

/**
 * The three files of Keras. `.h5` of Keras 1 and 2 (and 3's legacy one): a group for each layer, by the layer's name, with the
 * weights by their paths; in a whole model these are below `model_weights` and the attribute `model_config` describes the
 * layers. `.weights.h5` of Keras 3: `layers/<class name in snake_case>[_<k>]/…/vars/<index>`. `.keras`: a zip of
 * `config.json` and such a `model.weights.h5`, which is unpacked to memory. Source: keras/src/{legacy/saving/legacy_h5_format,saving/saving_lib}.py.
 */
export async function openKerasH5(source: ByteSource, isPath: boolean): Promise<WeightFile> {
  const { name: path, size } = source
  const file = await openHdf5(isPath ? { path } : { path, bytes: await source.read(0, size) }, size)
  const close = async () => {
    await file.close()
    await source.close()
  }
  return closingOnError(file, async () => {
    const config = await file.text('model_config')
    const json = config === undefined ? undefined : new TextEncoder().encode(config)
    const description = await descriptionOf(path, json, file)
    // Until Keras 3 the shape of an input is `batch_input_shape`.
    const isOfKeras3 = config?.includes('"batch_shape"') === true
    const version = (await file.text('keras_version')) ?? (isOfKeras3 ? '3' : undefined)
    const written = {
      format: 'keras-h5',
      ...(version !== undefined && { kerasVersion: version }),
      path,
      heldBytes: file.heldBytes,
      tensors: await inOrder(file, (lists) => checkOrder(path, lists, description.kerasModel)),
      ...description,
      close,
    } as const
    return ofKeras2(written, await file.text('backend'))
  })
}

/** Opens a `.keras` archive; files as {@link openKerasH5}. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openKerasArchive({ path, entries, close }: ZipArchive): Promise<WeightFile> {
  const config = await entries.get('config.json')?.read()
  if (config === undefined) throw corrupt(path, 'config.json is missing')
  const weights = entries.get('model.weights.h5')
  if (weights === undefined) throw corrupt(path, 'model.weights.h5 is missing')
  const file = await openHdf5({ path, bytes: await weights.read() }, weights.size)
  return closingOnError(file, async () => ({
    format: 'keras-archive',
    path,
    heldBytes: file.heldBytes,
    tensors: await inOrder({ ...file, tensors: file.tensors.map(ofPresentLayout) }),
    ...(await descriptionOf(path, config, file)),
    ...versionOf(path, await entries.get('metadata.json')?.read()),
    close: async () => {
      await file.close()
      await close()
    },
  }))
}

/** The description of a model, or the object names of a file of weights alone. */
async function descriptionOf(path: string, json: Uint8Array | undefined, file: Hdf5File): Promise<Partial<WeightFile>> {
  if (json === undefined) return { kerasNames: await namesOf(file) }
  return { kerasModel: parseBoundedJson(path, 'the description of its layers', json, CONFIG_LIMITS) }
}

/** TensorFlow 2.12 to 2.14 name the container otherwise, and count layers of a class that have variables by twos. */
const OLDER_PLACE = /(^|\/)_layer_checkpoint_dependencies\/([^/]+?)(?:_(\d*[02468]))?(?=\/)/g

function ofPresentLayout(tensor: StoredTensor): StoredTensor {
  if (!tensor.name.includes('_layer_checkpoint_dependencies')) return tensor
  const name = tensor.name
    .replaceAll('\\', '/')
    .replaceAll(OLDER_PLACE, (_, before: string, base: string, number?: string) => {
      return `${before}layers/${base}${number === undefined ? '' : `_${Number(number) / 2}`}`
    })
  return { ...tensor, name }
}

function versionOf(path: string, metadata: Uint8Array | undefined): Pick<WeightFile, 'kerasVersion'> {
  if (metadata === undefined) return {}
  const version = jsonRecord(parseBoundedJson(path, 'its metadata', metadata, CONFIG_LIMITS))?.['keras_version']
  return typeof version === 'string' ? { kerasVersion: version } : {}
}

/** Keras 3 writes on each object's variables the name of the object. */
async function namesOf(file: Hdf5File): Promise<ReadonlyMap<string, string>> {
  const places = new Set<string>()
  for (const tensor of file.tensors) {
    const [, place] = NUMBERED.exec(tensor.name) ?? []
    if (place === undefined) continue
    const segments = place.split('/')
    for (let end = segments.length; end > 0; end--) places.add(segments.slice(0, end).join('/'))
  }
  const names = new Map<string, string>()
  const groups = [...places]
  const texts = await file.texts(
    groups.map((place) => `${place}/vars`),
    'name',
  )
  for (const [index, [name]] of texts.entries()) if (name !== undefined) names.set(groups[index] ?? '', name)
  return names
}

/** What older files list: their layers, and of each the paths of its weights. */
interface Lists {
  readonly layers: readonly string[]
  readonly weights: readonly (readonly string[])[]
}

/** Variables with one path, in the order in which Keras keeps them. */
const OWN_ORDER = [
  ...['gamma', 'beta', 'moving_mean', 'moving_variance'],
  ...['depthwise_kernel', 'pointwise_kernel', 'kernel', 'recurrent_kernel', 'bias'],
]

/**
 * Keras assigns weights by the lists of the file and looks at no name, so names that say otherwise leave open whose numbers
 * they are. Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED`.
 */
function checkOrder(path: string, { layers, weights }: Lists, model: unknown): void {
  const config = jsonRecord(model)?.['config']
  const described = Array.isArray(config) ? config : jsonRecord(config)?.['layers']
  const names = (Array.isArray(described) ? described : []).map(
    (layer) => jsonRecord(jsonRecord(layer)?.['config'])?.['name'],
  )
  const listed = layers.filter((_, index) => (weights[index]?.length ?? 0) > 0)
  const known = new Set(listed)
  const inModel = names.filter((name) => known.has(name as string))
  const mixed = inModel.length === listed.length ? listed.find((name, index) => name !== inModel[index]) : undefined
  const turned = weights.map(firstTurned).find((name) => name !== undefined)
  const name = mixed ?? turned
  if (name === undefined) return
  throw unsupported(
    path,
    `the order of its ${mixed === undefined ? 'weights' : 'layers'} must be the model's: ${name} is out of order, and Keras would give it other weights than those of its name. Load the file in Keras and save it again`,
  )
}

/** The first weight of a layer that Keras keeps before one that is listed before it. */
function firstTurned(weights: readonly string[]): string | undefined {
  const last = new Map<string, number>()
  return weights.find((weight) => {
    const end = weight.lastIndexOf('/') + 1
    const [, wrapper, side] = /^(.*\/)?(forward|backward)_[^/]*\//.exec(weight) ?? []
    const ranks = [
      [weight.slice(0, end), OWN_ORDER.indexOf(weight.slice(end).replace(/:0$/, ''))],
      [`${wrapper ?? ''}sides`, side === undefined ? -1 : Number(side === 'backward')],
    ] as const
    return ranks.some(([group, rank]) => {
      const isTurned = rank >= 0 && rank < (last.get(group) ?? 0)
      if (rank >= 0) last.set(group, rank)
      return isTurned
    })
  })
}

/** Tensors in the order of the model if the file lists them, the others by name, numbers by their value. */
async function inOrder(file: Hdf5File, check?: (lists: Lists) => void): Promise<readonly StoredTensor[]> {
  const places = new Map<string, number>()
  const roots = ['', 'model_weights']
  const layers = await file.texts(roots, 'layer_names')
  const groups = roots.flatMap((root, index) =>
    (layers[index] ?? []).map((layer) => (root === '' ? layer : `${root}/${layer}`)),
  )
  const weights = await file.texts(groups, 'weight_names')
  check?.({ layers: layers.flat(), weights })
  for (const [index, names] of weights.entries()) {
    for (const weight of names) places.set(`${groups[index]}/${weight}`, places.size)
  }
  const placeOf = ({ name }: StoredTensor) => places.get(name) ?? Number.POSITIVE_INFINITY
  const compareNames = nameOrder()
  return [...file.tensors].sort((a, b) => {
    const [one, other] = [placeOf(a), placeOf(b)]
    return one === other ? compareNames(a.name, b.name) : one - other
  })
}

/** Path by path: `vars/2` before `vars/10`, `lstm` before `lstm_1`. */
function nameOrder(): (one: string, other: string) => number {
  // Made here, as the first collator of a process takes 8 ms.
  const { compare } = new Intl.Collator('en', { numeric: true })
  return (one, other) => {
    const [a, b] = [one.split('/'), other.split('/')]
    const differing = a.findIndex((segment, index) => segment !== b[index])
    if (differing === -1) return a.length - b.length
    const [mine, theirs] = [a[differing], b[differing]]
    return mine === undefined || theirs === undefined ? 1 : compare(mine, theirs)
  }
}
