import { listIn } from '@cudnn-rnn/canonical/rules'
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { int32, type MessageRows, readMessage, text } from '@cudnn-rnn/checkpoint/files'
import { corrupt, unsupported } from '../errors.js'

/** The tensor that describes an object-based checkpoint of TensorFlow 2: a TrackableObjectGraph. */
export const OBJECT_GRAPH = '_CHECKPOINTABLE_OBJECT_GRAPH'

const SUFFIX = '/.ATTRIBUTES/VARIABLE_VALUE'
/** Own names of the variables of recurrent cells. */
const TELLING = /(?:^|\/)(?:kernel|recurrent_kernel|bias)$/
/** Lists of an object's variables, which have better names in their objects. */
const LISTS =
  /^_?(?:all_)?(?:(?:non_)?trainable_)?(?:variables|weights)$|^keras_api$|^_?(?:self_)?(?:tracked_)?trackables$/
const OPTIMIZER = /(?:^|\/)optimizer\/|\/\.OPTIMIZER_SLOT\//
/** No model has more objects; each takes some hundred bytes. */
const MOST_OBJECTS = 2 ** 17

interface TrackedObject {
  readonly children: { readonly id: number; readonly name: string }[]
  readonly variables: { readonly fullName: string; readonly key: string }[]
}

/**
 * Names of the variables of an object-based checkpoint by their keys: `layer_with_weights-0/cell/kernel` for the key
 * `variables/1/.ATTRIBUTES/VARIABLE_VALUE`. A variable that only lists hold has the name that it was created under; undefined
 * is in place of one that is in another list of the same object too. Slots of optimizers have their keys.
 *
 * @param graph the TrackableObjectGraph; undefined if the checkpoint has none, and keys are paths.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`
 */
export function objectNames(
  path: string,
  keys: readonly string[],
  graph: Uint8Array | undefined,
): ReadonlyMap<string, string | undefined> {
  const { paths, fullNames } = graph === undefined ? NO_GRAPH : placesOf(decodeObjects(path, graph))
  const names = new Map<string, string | undefined>()
  const inLists = new Map<string, { readonly name: string; readonly list: string }[]>()
  for (const key of keys) {
    if (!key.endsWith(SUFFIX)) continue
    const stem = key.slice(0, -SUFFIX.length)
    const own = [paths.get(key), stem].find((name) => name !== undefined && TELLING.test(name) && !OPTIMIZER.test(name))
    const fullName = fullNames.get(key) ?? ''
    if (own !== undefined || key.includes('/.OPTIMIZER_SLOT/') || !TELLING.test(fullName)) names.set(key, own ?? key)
    else names.set(key, listedName(stem, fullName, inLists))
  }
  return names
}

/** Models of a checkpoint may have layers of one name, also in one list: the later ones have a number. */
function listedName(
  stem: string,
  fullName: string,
  inLists: Map<string, { readonly name: string; readonly list: string }[]>,
): string | undefined {
  const list = stem.replace(/\/?[^/]+$/, '')
  const owner = list.replace(/(?:(?:^|\/)optimizer)?(?:^|\/)[^/]+$/, '')
  const place = owner === '' ? fullName : `${owner}/${fullName}`
  const known = listIn(inLists, place)
  const number = known.filter((one) => one.list === list).length
  const name = number === 0 ? place : place.replace(/(\/?[^/]+)$/, `_${number}$1`)
  const isListedElsewhere = known.some((one) => one.name === name && one.list !== list)
  known.push({ name, list })
  return isListedElsewhere ? undefined : name
}

const NO_GRAPH = { paths: new Map<string, string>(), fullNames: new Map<string, string>() }

/** Each variable's shortest path that uses no list, and the name that it was created under. */
function placesOf(objects: readonly TrackedObject[]) {
  const [paths, fullNames] = [new Map<string, string>(), new Map<string, string>()]
  for (const { variables } of objects) for (const { key, fullName } of variables) fullNames.set(key, fullName)
  const queue = [{ id: 0, path: '' }]
  const seen = new Set([0])
  for (const { id, path } of queue) {
    const { children, variables } = objects[id] ?? { children: [], variables: [] }
    for (const { key } of variables) paths.set(key, path)
    for (const child of children) {
      if (seen.has(child.id) || LISTS.test(child.name) || path.length > LONGEST_PATH) continue
      seen.add(child.id)
      queue.push({ id: child.id, path: path === '' ? child.name : `${path}/${child.name}` })
    }
  }
  return { paths, fullNames }
}

/** Longer paths are of linked lists, not of layers; they would repeat each other. */
const LONGEST_PATH = 1024

const VARIABLE = { fullName: [2, text], key: [3, text] } as const
const CHILD = { id: [1, int32], name: [2, text] } as const

function decodeObjects(path: string, bytes: Uint8Array): TrackedObject[] {
  let parts = 0
  const part = <const Rows extends MessageRows<BinaryReader>>(reader: BinaryReader, rows: Rows) => {
    if (++parts > 8 * MOST_OBJECTS) throw unsupported(path, `it must hold at most ${MOST_OBJECTS} objects`)
    return readMessage(reader.bytes(), rows)
  }
  const object = {
    children: [1, (reader: BinaryReader) => ({ id: 0, name: '', ...part(reader, CHILD) }), 'each'],
    variables: [2, (reader: BinaryReader) => ({ fullName: '', key: '', ...part(reader, VARIABLE) }), 'each'],
  } as const
  const objects: TrackedObject[] = []
  const add = (reader: BinaryReader) => {
    if (objects.length === MOST_OBJECTS) throw unsupported(path, `it must hold at most ${MOST_OBJECTS} objects`)
    objects.push(part(reader, object))
  }
  try {
    readMessage(bytes, { nodes: [1, add] })
  } catch (cause) {
    throw cause instanceof Error && 'code' in cause ? cause : corrupt(path, `its ${OBJECT_GRAPH} is damaged`, cause)
  }
  return objects
}
