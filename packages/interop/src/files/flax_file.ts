import type { FloatArray } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { checkBytes, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { calledAlike, corrupt, unsupported } from '../errors.js'
import type { ListedTensor, StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { joinedName } from './joined_name.js'
import { type MsgpackHeader, MsgpackScanner } from './msgpack_scanner.js'
import type { ByteRange } from './protobuf_scanner.js'
import { TensorList } from './tensor_list.js'

/**
 * The format of `flax.serialization.to_bytes`: MessagePack maps of parameters, whose arrays are extension values of type 1,
 * each again MessagePack: (shape, dtype name, raw elements). An array of more than 1 GiB is a map of its shape and of flat
 * arrays, both as maps of places: `{__msgpack_chunked_array__: true, shape: {'0': …}, chunks: {'0': …}}`.
 * Source: flax/serialization.py.
 */
export const ARRAY_EXTENSION = 1
const CHUNKED = '__msgpack_chunked_array__'

/** Parameters are a few modules deep; more is a trap. */
const DEEPEST = 64
/** So are more values than this. */
const MOST_VALUES = 2 ** 20
/** Axes of an array. */
const MOST_AXES = 8

/** An array whose elements stay in the file. */
type FlaxArray = Omit<ListedTensor, 'name'> & ByteRange

/** The parts of one tensor: one array, or the flat arrays of a chunked one. */
type Chunks = readonly [FlaxArray, ...FlaxArray[]]

/** Opens a Flax msgpack file; names are joined by `/`. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openFlax(source: ByteSource): Promise<WeightFile> {
  const scan = new FlaxScan(source)
  await scan.file()
  const { name: path, size: heldBytes } = source
  return { format: 'flax', path, heldBytes, tensors: scan.tensors(), close: () => source.close() }
}

class FlaxScan {
  readonly #source: ByteSource
  readonly #path: string
  readonly #scanner: MsgpackScanner
  readonly #arrays = new Map<string, FlaxArray>()
  /** Integers that may be a chunked array's shape. */
  readonly #sizes = new Map<string, number>()
  readonly #chunked: string[] = []
  #values = 0

  constructor(source: ByteSource) {
    this.#source = source
    this.#path = source.name
    this.#scanner = new MsgpackScanner(source)
  }

  async file(): Promise<void> {
    const end = await this.#value(0, '', 0)
    if (end !== this.#source.size) throw corrupt(this.#path, 'something follows its MessagePack value')
  }

  tensors(): readonly StoredTensor[] {
    const list = new TensorList(this.#path, this.#source.size)
    const joined = this.#chunked.map((prefix) => [prefix, this.#chunks(prefix)] as const)
    const whole = [...this.#arrays].map(([name, array]): readonly [string, Chunks] => [name, [array]])
    for (const [name, chunks] of [...whole, ...joined]) list.add(this.#storedTensor(name, chunks))
    return list.tensors
  }

  /** Takes in the value at `position` and gives the position behind it. */
  async #value(position: number, name: string, depth: number): Promise<number> {
    if (depth > DEEPEST) throw corrupt(this.#path, `its maps are more than ${DEEPEST} deep`)
    if (++this.#values > MOST_VALUES) throw unsupported(this.#path, `it must hold at most ${MOST_VALUES} values`)
    const header = await this.#scanner.header(position)
    if (header.kind === 'map') return this.#map(header, name, depth)
    if (header.kind === 'array') return this.#items(header, name, depth)
    if (header.kind === 'extension' && header.type === ARRAY_EXTENSION) {
      if (this.#arrays.has(name)) throw calledAlike(this.#path, name)
      this.#arrays.set(name, await this.#array(header))
    }
    if (header.kind === 'integer' && /\/shape\/\d$/.test(name)) this.#sizes.set(name, header.value)
    return header.end
  }

  async #map({ start, count }: { readonly start: number; readonly count: number }, name: string, depth: number) {
    let position = start
    const keys = new Set<string>()
    for (let item = 0; item < count; item++) {
      const header = await this.#scanner.header(position)
      if (header.kind !== 'text') throw corrupt(this.#path, 'a key of its maps is not text')
      const key = await this.#scanner.text(header)
      if (keys.size === keys.add(key).size) throw calledAlike(this.#path, joinedName(this.#path, name, '/', key))
      if (key === CHUNKED) this.#chunked.push(name)
      position = await this.#value(header.end, joinedName(this.#path, name, '/', key), depth + 1)
    }
    return position
  }

  async #items({ start, count }: { readonly start: number; readonly count: number }, name: string, depth: number) {
    let position = start
    for (let item = 0; item < count; item++) {
      position = await this.#value(position, joinedName(this.#path, name, '/', String(item)), depth + 1)
    }
    return position
  }

  /** (shape, dtype name, elements) within an extension value. */
  async #array({ start, end }: { readonly start: number; readonly end: number }): Promise<FlaxArray> {
    const damaged = () => corrupt(this.#path, 'an array is not shape, dtype and elements')
    const counted = (header: MsgpackHeader, most: number) => {
      if (header.kind === 'array' && header.count <= most) return header
      throw damaged()
    }
    const outer = counted(await this.#scanner.header(start), 3)
    const axes = counted(await this.#scanner.header(outer.start), MOST_AXES)
    const shape: number[] = []
    let position = axes.start
    for (let axis = 0; axis < axes.count; axis++) {
      const size = await this.#scanner.header(position)
      if (size.kind !== 'integer') throw damaged()
      shape.push(size.value)
      position = size.end
    }
    const dtype = await this.#scanner.header(position)
    if (dtype.kind !== 'text') throw damaged()
    const elements = await this.#scanner.header(dtype.end)
    if (outer.count !== 3 || elements.kind !== 'binary' || elements.end !== end) throw damaged()
    return { shape, dtype: await this.#scanner.text(dtype), start: elements.start, end: elements.end }
  }

  /** The flat arrays of a chunked one, the first with the shape of all; they are not separate tensors. */
  #chunks(name: string): Chunks {
    const prefix = name === '' ? '' : `${name}/`
    const listed = <Item>(items: ReadonlyMap<string, Item>, list: string): Item[] => {
      const found: Item[] = []
      for (let item = items.get(`${prefix}${list}/0`); item !== undefined; ) {
        found.push(item)
        item = items.get(`${prefix}${list}/${found.length}`)
      }
      return found
    }
    const shape = listed(this.#sizes, 'shape')
    const chunks = listed(this.#arrays, 'chunks')
    for (const index of chunks.keys()) this.#arrays.delete(`${prefix}chunks/${index}`)
    const [first] = chunks
    if (first === undefined || chunks.some(({ dtype }) => dtype !== first.dtype)) {
      throw corrupt(this.#path, `the chunks of ${name} are not of one array`)
    }
    return [{ ...first, shape }, ...chunks.slice(1)]
  }

  #storedTensor(name: string, chunks: Chunks): StoredTensor {
    const [{ shape, dtype }] = chunks
    const read = async (): Promise<FloatArray> => {
      if (!Object.hasOwn(ELEMENT_TYPES, dtype)) {
        throw unsupported(this.#path, `weights are floating point: ${name} is ${dtype}`)
      }
      const type = dtype as ElementTypeName
      const size = chunks.reduce((sum, { start, end }) => sum + end - start, 0)
      checkBytes(this.#path, name, type, shape, size)
      return decodeElements(this.#path, name, type, await this.#bytesOf(chunks, size))
    }
    return { name, shape, dtype, read }
  }

  async #bytesOf(chunks: readonly FlaxArray[], size: number): Promise<Uint8Array> {
    const [first] = chunks
    if (chunks.length === 1 && first !== undefined) return this.#source.read(first.start, first.end - first.start)
    const bytes = new Uint8Array(size)
    let done = 0
    for (const { start, end } of chunks) {
      bytes.set(await this.#source.read(start, end - start), done)
      done += end - start
    }
    return bytes
  }
}
