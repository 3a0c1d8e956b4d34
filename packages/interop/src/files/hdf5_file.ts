import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Dataset, File, Group } from 'h5wasm'
import { checkedCount } from '../elements.js'
import { corrupt, isWeightFileError, unsupported } from '../errors.js'
import type { StoredTensor } from '../weight_file.js'
import { type Hdf5Library, loadHdf5 } from './hdf5_library.js'
import { type Hdf5Input, mountHdf5 } from './hdf5_mount.js'
import { joinedName } from './joined_name.js'
import { TensorList } from './tensor_list.js'

/** An HDF5 file. */
export interface Hdf5File {
  readonly tensors: readonly StoredTensor[]
  /** Bytes of elements that the file can hold. */
  readonly heldBytes: number
  /** A text attribute of the root. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
  text(attribute: string): string | undefined
  /**
   * The texts of an attribute of a group, in parts where it is long; none where there is no such group or attribute.
   * Throws WeightFileError `ERR_WEIGHTS_CORRUPT`.
   */
  texts(group: string, attribute: string): readonly string[]
  close(): void
}

/** A link takes at least so many bytes of a file; groups that contain themselves would list more. */
const BYTES_PER_LINK = 32
/** Layers in models in models are a few groups deep; the library walks each path from the root. */
const DEEPEST = 48

/**
 * HDF5 does not say how many bytes compressed elements take, and elements that were never written take none: with filters,
 * a file is taken to hold this many times its size, and some bytes that even an empty one may claim.
 */
const COMPRESSION_RATIO = 16
const FREE_BYTES = 2 ** 24

/** H5T_FLOAT and H5T_STRING of H5Tpublic.h. */
const FLOAT_CLASS = 1
const STRING_CLASS = 3

/** The description of a model's layers is text of some megabytes at most. */
const LONGEST_ATTRIBUTE = 2 ** 26

/** A larger dataset is read in parts: the library's own memory grows with the largest and never shrinks. */
const LARGEST_PART = 2 ** 26

/**
 * Opens an HDF5 file with the HDF5 library itself, compiled to WebAssembly: it sees this and no other file.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for bytes beyond 2 GiB
 */
export async function openHdf5(input: Hdf5Input): Promise<Hdf5File> {
  const { path } = input
  const h5wasm = await loadHdf5('read HDF5')
  const module = await h5wasm.ready
  // Errors are thrown instead of printed.
  module.activate_throwing_error_handler()
  const { name, size, unmount } = mountHdf5(module.FS, input)
  let file: File
  try {
    file = new h5wasm.File(name, 'r')
  } catch (cause) {
    unmount()
    throw corrupt(path, 'it is no whole HDF5 file', cause)
  }
  const close = () => {
    try {
      file.close()
    } catch {
      // A damaged file may have stopped the library where it cannot close what it opened: all was read that will be.
    } finally {
      unmount()
    }
  }
  try {
    const text = (name: string) => guarded(path, () => textAttribute(path, file, name))
    const texts = (group: string, name: string) => guarded(path, () => textList(h5wasm, path, file, size, group, name))
    return { ...guarded(path, () => datasetsOf(h5wasm, path, file, size)), text, texts, close }
  } catch (error) {
    close()
    throw error
  }
}

/** What `read` gives; what the library throws is an error of a damaged file. */
function guarded<Value>(path: string, read: () => Value): Value {
  try {
    return read()
  } catch (cause) {
    throw isWeightFileError(cause) ? cause : corrupt(path, 'its HDF5 objects are damaged', cause)
  }
}

function datasetsOf(
  h5wasm: Hdf5Library,
  path: string,
  file: File,
  fileSize: number,
): Pick<Hdf5File, 'tensors' | 'heldBytes'> {
  const list = new TensorList(path, fileSize)
  let links = 0
  let heldBytes = fileSize
  const visit = (group: Group, prefix: string, depth: number): void => {
    if (depth > DEEPEST) throw corrupt(path, `its HDF5 groups are more than ${DEEPEST} deep`)
    const keys = group.keys()
    links += keys.length
    if (links > fileSize / BYTES_PER_LINK) throw corrupt(path, 'its HDF5 groups contain themselves')
    for (const key of keys) {
      const item = group.get(key)
      const name = joinedName(path, prefix, '/', key)
      if (item instanceof h5wasm.Group) visit(item, name, depth + 1)
      else if (item instanceof h5wasm.Dataset) {
        if (item.filters.length > 0) heldBytes = COMPRESSION_RATIO * fileSize + FREE_BYTES
        const { path: place } = item
        const open = () => new h5wasm.Dataset(file.file_id, place)
        list.add(storedTensor(path, name, item, open, () => heldBytes))
      }
    }
  }
  visit(file, '', 0)
  return { tensors: list.tensors, heldBytes }
}

/** @param open the library's object for the dataset, which is not held: it takes more than all else that is known of a tensor. */
function storedTensor(
  path: string,
  name: string,
  listed: Dataset,
  open: () => Dataset,
  heldBytes: () => number,
): StoredTensor {
  const shape = listed.shape ?? []
  const dtype = typeInWords(listed.dtype)
  const read = async (): Promise<FloatArray> => {
    const dataset = open()
    const { type, size, virtual_sources: elsewhere } = guarded(path, () => dataset.metadata)
    if (elsewhere !== undefined) throw unsupported(path, `tensors must be within the file: ${name} is in others`)
    // Texts and lists of any length are not even read.
    if (type !== FLOAT_CLASS) throw unsupported(path, `weights are floating point: ${name} holds ${dtype}`)
    checkedCount(path, name, shape, heldBytes() / size)
    const value = readValue(path, name, dataset)
    if (value instanceof Float32Array || value instanceof Float64Array) return value
    if (typeof value === 'number') return Float32Array.of(value)
    throw unsupported(path, `weights are floating point: ${name} holds ${dtype}`)
  }
  return { name, shape, dtype, read }
}

function readValue(path: string, name: string, dataset: Dataset): unknown {
  try {
    return valueInParts(dataset)
  } catch (cause) {
    throw corrupt(path, `${name} is damaged`, cause)
  }
}

/** The value, put together of slices along the first axis where it is large. */
function valueInParts(dataset: Dataset): unknown {
  const shape = dataset.shape ?? []
  const [rows = 1] = shape
  const count = shape.reduce((product, size) => product * size, 1)
  const partRows = Math.max(1, Math.floor((LARGEST_PART * rows) / (count * 8)))
  if (partRows >= rows) return dataset.value
  const first = dataset.slice([[0, partRows]])
  if (!(first instanceof Float32Array || first instanceof Float64Array)) return first
  const whole = first instanceof Float64Array ? new Float64Array(count) : new Float32Array(count)
  whole.set(first)
  const rowLength = count / rows
  for (let row = partRows; row < rows; row += partRows) {
    whole.set(dataset.slice([[row, Math.min(rows, row + partRows)]]) as typeof whole, row * rowLength)
  }
  return whole
}

/** Names of layers and weights; Keras splits lists above 64 KiB in parts `<attribute>0`, `<attribute>1`, … */
function textList(
  h5wasm: Hdf5Library,
  path: string,
  file: File,
  fileSize: number,
  group: string,
  attribute: string,
): readonly string[] {
  const item = group === '' ? file : file.get(group)
  if (!(item instanceof h5wasm.Group)) return []
  const { attrs } = item
  const parts = attrs[attribute] === undefined ? [] : [attribute]
  while (parts.length === 0 || parts[0] !== attribute) {
    const part = `${attribute}${parts.length}`
    if (attrs[part] === undefined) break
    parts.push(part)
  }
  return parts.flatMap((part) => {
    const { type, size, shape } = attrs[part]!.metadata
    const count = (shape ?? []).reduce((product, length) => product * length, 1)
    // Keras writes an empty list as numbers.
    if (type !== STRING_CLASS) return []
    if (count * size > fileSize) throw corrupt(path, `the attribute ${part} of ${group} is larger than the file`)
    const value: unknown = attrs[part]!.value
    const list = Array.isArray(value) ? value : [value]
    return list.filter((text): text is string => typeof text === 'string')
  })
}

const FLOATS: ReadonlyMap<string, string> = new Map([
  ['e', 'float16'],
  ['f', 'float32'],
  ['d', 'float64'],
])
const INTEGERS: ReadonlyMap<string, string> = new Map([
  ['b', 'int8'],
  ['h', 'int16'],
  ['i', 'int32'],
  ['q', 'int64'],
])

/** The library's words are those of Python's `struct`: `<f` is float32. */
function typeInWords(dtype: unknown): string {
  if (typeof dtype !== 'string') return 'compound'
  const letter = dtype.replace(/^[<>=|]/, '')
  const integer = INTEGERS.get(letter.toLowerCase())
  if (integer !== undefined) return letter === letter.toLowerCase() ? integer : `u${integer}`
  return FLOATS.get(letter) ?? dtype
}

function textAttribute(path: string, file: File, name: string): string | undefined {
  const attribute = file.attrs[name]
  if (attribute === undefined) return undefined
  const { type, size, shape } = attribute.metadata
  const isOne = (shape ?? []).every((length) => length === 1)
  if (type !== STRING_CLASS || !isOne || size > LONGEST_ATTRIBUTE) {
    throw corrupt(path, `its attribute ${name} is not one text of at most ${LONGEST_ATTRIBUTE} bytes`)
  }
  const { value } = attribute
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : undefined
}
