import type { FloatArray } from '@cudnn-rnn/canonical'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName, elementTypeOf } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { UnreadValue, WeightFile } from '../weight_file.js'
import { joinedName } from './joined_name.js'
import { PickleDict, PickleObject, PickleTensor, type PickleValue, UnreadTensor } from './pickle_values.js'
import { stridedElements } from './strided_elements.js'
import { TensorList } from './tensor_list.js'
import type { ArchiveEntry } from './zip_archive.js'

/** Nesting of dicts, lists and modules in a checkpoint is shallow; a deeper one is a trap. */
const DEEPEST = 64

export type StorageBytes = Pick<ArchiveEntry, 'size' | 'read'>

/** The weights in the pickle of a file of `torch.save`; `bytesOf` finds a storage by its key. */
export function torchWeights(
  path: string,
  heldBytes: number,
  value: PickleValue,
  bytesOf: (key: string) => StorageBytes | undefined,
  close: () => Promise<void>,
): WeightFile {
  const contents = new TorchContents(path, new Storages(path, heldBytes, bytesOf), heldBytes)
  contents.collect('', value, 0)
  const { tensors, unread } = contents
  return { format: 'pytorch', path, heldBytes, tensors, unread, close }
}

/** Finds the tensors in the values of a pickle. */
class TorchContents {
  readonly #path: string
  readonly #storages: Storages
  readonly #tensors: TensorList
  readonly #unread: TensorList<UnreadValue>
  /** A container is looked into once: a few bytes can make one appear any number of times. */
  readonly #seen = new Set<PickleValue>()

  constructor(path: string, storages: Storages, heldBytes: number) {
    this.#path = path
    this.#storages = storages
    this.#tensors = new TensorList(path, heldBytes)
    this.#unread = new TensorList<UnreadValue>(path, heldBytes)
  }

  get tensors(): readonly StoredTensor[] {
    return this.#tensors.tensors
  }

  get unread(): readonly UnreadValue[] {
    return this.#unread.tensors
  }

  collect(name: string, value: PickleValue, depth: number): void {
    if (value instanceof PickleTensor) this.#tensors.add(this.#storages.tensor(name, value))
    else if (value instanceof UnreadTensor) this.#addUnread(name, value)
    else if (typeof value === 'object' && value !== null && !this.#seen.has(value)) {
      this.#seen.add(value)
      if (depth > DEEPEST) throw corrupt(this.#path, `its containers are more than ${DEEPEST} deep`)
      if (value instanceof PickleObject) this.#object(name, value, depth)
      else if (value instanceof PickleDict || Array.isArray(value)) this.#items(name, value, depth)
    }
  }

  #items(name: string, items: PickleDict | readonly PickleValue[], depth: number): void {
    for (const [key, item] of items.entries()) {
      if (typeof item === 'object') this.collect(joinedName(this.#path, name, '.', String(key)), item, depth + 1)
    }
  }

  /** A module by its parameters, under the names of its state dict; of any other object the attributes that are dicts. */
  #object(name: string, object: PickleObject, depth: number): void {
    const array = arrayShape(object)
    if (array !== undefined || OWN_WEIGHT.test(name)) {
      const what = array === undefined ? `an object of ${object.path.slice(0, LONGEST_SHOWN)}` : 'a NumPy array'
      this.#addUnread(name, new UnreadTensor(what, array ?? []))
      return
    }
    this.#unread.add({ name, what: object.path.slice(0, LONGEST_SHOWN) })
    // An object with slots has a second dict, after its attributes' dict.
    const states = object.attributes.flatMap((state) => (Array.isArray(state) ? state : [state]))
    const dicts = states.filter((state) => state instanceof PickleDict)
    const isModule = dicts.some((state) => MODULE.every((own) => state.get(own) instanceof PickleDict))
    for (const state of dicts) {
      const parts = isModule ? [...MODULE, '_buffers'].map((own) => state.get(own)) : [state]
      for (const part of parts) if (part instanceof PickleDict) this.#items(name, part, depth)
    }
  }

  #addUnread(name: string, { what, shape }: UnreadTensor): void {
    const read = async () => {
      throw unsupported(
        this.#path,
        `weights must be dense tensors of floats: ${name} is ${what}. Save it as one, as dequantize(), to_dense(), resolve_neg() and torch.from_numpy() make it`,
      )
    }
    this.#tensors.add({ name, shape, dtype: what, read })
  }
}

/** Characters of the name of a class in a message. */
const LONGEST_SHOWN = 200

/** A weight that another package stores as an object of a class. */
const OWN_WEIGHT = /(?:^|\.)(?:weight|bias|kernel)[^.]*$/

/** Dicts in the attributes of every `torch.nn.Module`. */
const MODULE = ['_parameters', '_modules'] as const

/** The shape of a NumPy array: `_reconstruct` and a state of (version, shape, dtype, order, bytes), or `_frombuffer`. */
function arrayShape({ path, parameters, attributes }: PickleObject): readonly number[] | undefined {
  const [, own] = /^numpy\.(?:\w+\.)*(_reconstruct|_frombuffer)$/.exec(path) ?? []
  if (own === undefined) return undefined
  const [state] = attributes
  const shape = own === '_frombuffer' ? parameters[2] : Array.isArray(state) ? state[1] : undefined
  return Array.isArray(shape) && shape.every((size) => typeof size === 'number') ? shape : undefined
}

/** The storages of a file. One that several tensors are views of is unpacked once and held until each has been read. */
class Storages {
  readonly #path: string
  readonly #heldBytes: number
  readonly #bytesOf: (key: string) => StorageBytes | undefined
  /** Views by all that makes them. */
  readonly #views = new Map<string, StoredTensor['read']>()
  /** How many views of a storage are still to be read. */
  readonly #unread = new Map<string, number>()
  readonly #held = new Map<string, Promise<Uint8Array>>()

  constructor(path: string, heldBytes: number, bytesOf: (key: string) => StorageBytes | undefined) {
    this.#path = path
    this.#heldBytes = heldBytes
    this.#bytesOf = bytesOf
  }

  /** The tensor of a view; equal views share their `read`. */
  tensor(name: string, view: PickleTensor): StoredTensor {
    const { storage, offset, shape, strides } = view
    const type = elementTypeOf('torch', storage.type)
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
    const stored = this.#bytesOf(storage.key)
    if (stored === undefined) throw corrupt(path, `the storage ${storage.key} of ${name} is missing`)
    // An expanded view repeats elements: not more than the file has.
    checkedCount(path, name, shape, this.#heldBytes / ELEMENT_TYPES[type].bytes)
    const bytes = await this.#bytes(storage.key, stored)
    const elements = stridedElements(decodeElements(path, name, type, bytes), { offset, shape, strides })
    if (elements === undefined) throw corrupt(path, `${name} reaches beyond its storage`)
    return elements
  }

  async #bytes(key: string, stored: StorageBytes): Promise<Uint8Array> {
    const unread = this.#unread.get(key) ?? 0
    this.#unread.set(key, unread - 1)
    const held = this.#held.get(key) ?? stored.read()
    if (unread > 1) this.#held.set(key, held)
    else this.#held.delete(key)
    return held
  }
}
