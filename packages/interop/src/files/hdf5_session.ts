import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { required, zerosLike } from '@cudnn-rnn/canonical/rules'
import type { Dataset, File, Group } from 'h5wasm'
import { checkedCount, elementTypeOf } from '../elements.js'
import { corrupt, unsupported, WeightFileError } from '../errors.js'
import type { ListedTensor } from '../stored_tensor.js'
import { type Hdf5Library, loadHdf5 } from './hdf5_library.js'
import { type Hdf5Input, mountHdf5 } from './hdf5_mount.js'
import { joinedName } from './joined_name.js'
import { TensorList } from './tensor_list.js'

export interface Hdf5Listing {
  /** Their names are paths from the root, without the leading `/`. */
  readonly datasets: readonly ListedTensor[]
  /** Bytes of elements that the file can hold. */
  readonly heldBytes: number
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

/** An HDF5 file in the HDF5 library of this thread. The library sees this file and no other. */
export class Hdf5Session {
  readonly #library: Hdf5Library
  readonly #path: string
  readonly #file: File
  readonly #size: number
  readonly #unmount: () => void
  readonly #places: string[] = []
  #heldBytes: number
  #isSound = true

  private constructor(library: Hdf5Library, path: string, file: File, size: number, unmount: () => void) {
    this.#library = library
    this.#path = path
    this.#file = file
    this.#size = size
    this.#unmount = unmount
    this.#heldBytes = size
  }

  /**
   * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for bytes beyond 2 GiB, `ERR_WEIGHTS_IO`;
   *   Error `ERR_PACKAGE_MISSING`
   */
  static async open(input: Hdf5Input): Promise<Hdf5Session> {
    const { path } = input
    const library = await loadHdf5('read HDF5')
    const module = await library.ready
    // Errors are thrown instead of printed.
    module.activate_throwing_error_handler()
    const { name, size, unmount } = mountHdf5(module.FS, input)
    try {
      return new Hdf5Session(library, path, new library.File(name, 'r'), size, unmount)
    } catch (cause) {
      unmount()
      throw corrupt(path, 'it is not a complete HDF5 file', cause)
    }
  }

  /** False once the library failed: its state is unknown. */
  get isSound(): boolean {
    return this.#isSound
  }

  /** All datasets. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`. */
  list(): Hdf5Listing {
    const list = new TensorList<ListedTensor>(this.#path, this.#size)
    let links = 0
    const visit = (group: Group, prefix: string, depth: number): void => {
      if (depth > DEEPEST) throw corrupt(this.#path, `its HDF5 groups are more than ${DEEPEST} deep`)
      const keys = group.keys()
      links += keys.length
      if (links > this.#size / BYTES_PER_LINK) throw corrupt(this.#path, 'its HDF5 groups contain themselves')
      for (const key of keys) {
        const item = group.get(key)
        const name = joinedName(this.#path, prefix, '/', key)
        if (item instanceof this.#library.Group) visit(item, name, depth + 1)
        else if (item instanceof this.#library.Dataset) {
          if (item.filters.length > 0) this.#heldBytes = COMPRESSION_RATIO * this.#size + FREE_BYTES
          list.add({ name, shape: item.shape ?? [], dtype: typeInWords(item.dtype) })
          this.#places.push(item.path)
        }
      }
    }
    this.#guarded(() => visit(this.#file, '', 0))
    return { datasets: list.tensors, heldBytes: this.#heldBytes }
  }

  /**
   * The elements of a dataset.
   *
   * @param index its place in the list.
   * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED`
   */
  read(index: number, { name, shape, dtype }: ListedTensor): FloatArray {
    const path = this.#path
    // The library's object is not held: it takes more than all else that is known of a tensor.
    const { dataset, metadata } = this.#guarded(() => {
      const dataset = new this.#library.Dataset(
        this.#file.file_id,
        required(this.#places[index], 'indices are those of the listed datasets'),
      )
      return { dataset, metadata: dataset.metadata }
    })
    if (metadata.virtual_sources !== undefined) {
      throw unsupported(path, `tensors must be within the file: ${name} is in others`)
    }
    // Texts and lists of any length are not even read.
    const isFloat = metadata.type === FLOAT_CLASS
    if (isFloat) {
      checkedCount(path, name, shape, this.#heldBytes / metadata.size)
      const value = this.#guarded(() => valueInParts(dataset), `${name} is damaged`)
      if (value instanceof Float32Array || value instanceof Float64Array) return value
      if (typeof value === 'number') return Float32Array.of(value)
    }
    throw unsupported(path, `weights are floating point: ${name} holds ${dtype}`)
  }

  /** A text attribute of the root. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
  text(attribute: string): string | undefined {
    return this.#guarded(() => textAttribute(this.#path, this.#file, attribute))
  }

  /**
   * For each group the texts of an attribute, in parts if it is long; none if the group or the attribute is missing.
   * Throws WeightFileError `ERR_WEIGHTS_CORRUPT`.
   */
  texts(groups: readonly string[], attribute: string): readonly (readonly string[])[] {
    return groups.map((group) => this.#guarded(() => this.#textList(group, attribute)))
  }

  close(): void {
    try {
      this.#file.close()
    } catch {
      // After an error in a damaged file the library may fail to close its objects.
      this.#isSound = false
    } finally {
      this.#unmount()
    }
  }

  /** The result of `read`; an error of the library becomes the error of a damaged file. */
  #guarded<Value>(read: () => Value, rule = 'its HDF5 objects are damaged'): Value {
    try {
      return read()
    } catch (cause) {
      if (cause instanceof WeightFileError) throw cause
      this.#isSound = false
      throw corrupt(this.#path, rule, cause)
    }
  }

  /** Names of layers and weights; Keras splits lists above 64 KiB in parts `<attribute>0`, `<attribute>1`, … */
  #textList(group: string, attribute: string): readonly string[] {
    const item = group === '' ? this.#file : this.#file.get(group)
    if (!(item instanceof this.#library.Group)) return []
    const { attrs } = item
    const whole = attrs[attribute]
    const parts = whole === undefined ? [] : [{ name: attribute, stored: whole }]
    while (whole === undefined) {
      const name = `${attribute}${parts.length}`
      const stored = attrs[name]
      if (stored === undefined) break
      parts.push({ name, stored })
    }
    return parts.flatMap(({ name, stored }) => {
      const { type, size, shape } = stored.metadata
      const count = elementCount(shape ?? [])
      // Keras writes an empty list as numbers.
      if (type !== STRING_CLASS) return []
      if (count * size > this.#size) {
        throw corrupt(this.#path, `the attribute ${name} of ${group} is larger than the file`)
      }
      const value: unknown = stored.value
      const list = Array.isArray(value) ? value : [value]
      return list.filter((text): text is string => typeof text === 'string')
    })
  }
}

/** The value, put together of slices along the first axis if it is large. */
function valueInParts(dataset: Dataset): unknown {
  const shape = dataset.shape ?? []
  const [rows = 1] = shape
  const count = elementCount(shape)
  const partRows = Math.max(1, Math.floor((LARGEST_PART * rows) / (count * 8)))
  if (partRows >= rows) return dataset.value
  const first = dataset.slice([[0, partRows]])
  if (!(first instanceof Float32Array || first instanceof Float64Array)) return first
  const whole = zerosLike(first, count)
  whole.set(first)
  const rowLength = count / rows
  for (let row = partRows; row < rows; row += partRows) {
    whole.set(dataset.slice([[row, Math.min(rows, row + partRows)]]) as typeof whole, row * rowLength)
  }
  return whole
}

/** The library's words are Python `struct`'s: `<f` is float32. */
function typeInWords(dtype: unknown): string {
  return typeof dtype === 'string' ? (elementTypeOf('hdf5', dtype.replace(/^[<>=|]/, '')) ?? dtype) : 'compound'
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
