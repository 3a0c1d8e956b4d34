import { entryOf } from '@cudnn-rnn/arguments'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'
import { joinedName } from './joined_name.js'
import { readPickle } from './pickle_reader.js'
import { PickleDict, PickleTensor, type PickleValue } from './pickle_values.js'
import { stridedElements } from './strided_elements.js'
import { TensorList } from './tensor_list.js'
import type { ArchiveEntry } from './zip_archive.js'

/** Storages with elements of these types; others are listed and not read. */
const STORAGES: ReadonlyMap<string, ElementTypeName> = new Map([
  ['DoubleStorage', 'float64'],
  ['FloatStorage', 'float32'],
  ['HalfStorage', 'float16'],
  ['BFloat16Storage', 'bfloat16'],
  ['LongStorage', 'int64'],
  ['IntStorage', 'int32'],
  ['ShortStorage', 'int16'],
  ['CharStorage', 'int8'],
  ['ByteStorage', 'uint8'],
  ['BoolStorage', 'bool'],
])

/** Nesting of dicts and lists in a checkpoint is shallow; a deeper one is a trap. */
const DEEPEST = 32

/**
 * Opens the format of `torch.save` since PyTorch 1.6: a zip of `data.pkl`, `byteorder` and one file `data/<key>` for each
 * storage. The pickle is read by an allow-list and never executed; storages are read when a tensor is.
 */
export async function openTorchZip(
  path: string,
  entries: ReadonlyMap<string, ArchiveEntry>,
  close: () => Promise<void>,
): Promise<WeightFile> {
  const pickle = [...entries.keys()].find((name) => name.endsWith('/data.pkl'))
  if (pickle === undefined) throw corrupt(path, 'it has no data.pkl')
  const folder = pickle.slice(0, -'data.pkl'.length)
  const order = await entries.get(`${folder}byteorder`)?.read()
  if (order !== undefined && new TextDecoder().decode(order).trim() !== 'little') {
    throw unsupported(path, 'its elements are not little-endian')
  }
  const heldBytes = [...entries.values()].reduce((sum, { size }) => sum + size, 0)
  const storages = new Storages(path, folder, entries)
  const list = new TensorList(path, heldBytes)
  // A container is looked into once: a few bytes can make one appear any number of times.
  const seen = new Set<PickleValue>()
  const collect = (prefix: string, value: PickleValue, depth: number): void => {
    if (value instanceof PickleTensor) {
      list.add(storages.tensor(prefix, value))
      return
    }
    if (typeof value !== 'object' || seen.has(value)) return
    seen.add(value)
    if (depth > DEEPEST) throw corrupt(path, `its containers are more than ${DEEPEST} deep`)
    const items = value instanceof PickleDict || Array.isArray(value) ? value.entries() : []
    for (const [key, item] of items) {
      if (typeof item === 'object') collect(joinedName(path, prefix, '.', String(key)), item, depth + 1)
    }
  }
  collect('', readPickle(path, await entryOf(entries, pickle).read(), heldBytes), 0)
  return { format: 'pytorch', path, heldBytes, tensors: list.tensors, close }
}

/** The storages of a file. One that several tensors are views of is unpacked once and held until each has been read. */
class Storages {
  readonly #path: string
  readonly #folder: string
  readonly #entries: ReadonlyMap<string, ArchiveEntry>
  /** Views by all that makes them. */
  readonly #views = new Map<string, StoredTensor['read']>()
  /** How many views of a storage are still to be read. */
  readonly #unread = new Map<string, number>()
  readonly #held = new Map<string, Promise<Uint8Array>>()

  constructor(path: string, folder: string, entries: ReadonlyMap<string, ArchiveEntry>) {
    this.#path = path
    this.#folder = folder
    this.#entries = entries
  }

  /** The tensor of a view; equal views share their `read`. */
  tensor(name: string, view: PickleTensor): StoredTensor {
    const { storage, offset, shape, strides } = view
    const type = STORAGES.get(storage.type)
    const id = [storage.type, storage.key, offset, shape, strides].join(';')
    let read = this.#views.get(id)
    if (read === undefined) {
      read = () => this.#elements(name, view, type)
      this.#views.set(id, read)
      if (type !== undefined) this.#unread.set(storage.key, (this.#unread.get(storage.key) ?? 0) + 1)
    }
    return { name, shape, dtype: type ?? storage.type, read }
  }

  async #elements(
    name: string,
    { storage, offset, shape, strides }: PickleTensor,
    type: ElementTypeName | undefined,
  ): Promise<FloatArray> {
    const path = this.#path
    if (type === undefined) throw unsupported(path, `weights are floating point: ${name} is a ${storage.type}`)
    const entry = this.#entries.get(`${this.#folder}data/${storage.key}`)
    if (entry === undefined) throw corrupt(path, `the storage ${storage.key} of ${name} is missing`)
    checkedCount(path, name, shape, entry.size / ELEMENT_TYPES[type].bytes)
    const bytes = await this.#bytes(storage.key, entry)
    const elements = stridedElements(decodeElements(path, name, type, bytes), { offset, shape, strides })
    if (elements === undefined) throw corrupt(path, `${name} reaches beyond its storage`)
    return elements
  }

  async #bytes(key: string, entry: ArchiveEntry): Promise<Uint8Array> {
    const unread = this.#unread.get(key) ?? 0
    this.#unread.set(key, unread - 1)
    const held = this.#held.get(key) ?? entry.read()
    if (unread > 1) this.#held.set(key, held)
    else this.#held.delete(key)
    return held
  }
}
