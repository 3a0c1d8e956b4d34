import { type FloatArray, missingPackage } from '@cudnn-rnn/canonical'
import type { Dataset, File, Group } from 'h5wasm'
import { checkedCount } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../weight_file.js'
import { type Hdf5Input, mountHdf5 } from './hdf5_mount.js'
import { joinedName } from './joined_name.js'

/** An HDF5 file. */
export interface Hdf5File {
  readonly tensors: readonly StoredTensor[]
  /** Text attributes of the root. */
  readonly attributes: ReadonlyMap<string, string>
  close(): void
}

/** A dataset takes at least so many bytes of a file; groups that contain themselves would list more. */
const BYTES_PER_OBJECT = 32
/** Compressed chunks make no more than this of one byte. */
const LARGEST_RATIO = 1032

type Library = typeof import('h5wasm')['default']

/** A larger dataset is read in parts: the library's own memory grows with the largest and never shrinks. */
const LARGEST_PART = 2 ** 26

/**
 * Opens an HDF5 file with the HDF5 library itself, compiled to WebAssembly: it sees this and no other file.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` for bytes beyond 2 GiB
 */
export async function openHdf5(input: Hdf5Input): Promise<Hdf5File> {
  const { path } = input
  const { default: h5wasm } = await import('h5wasm').catch(missingPackage('read HDF5', 'h5wasm'))
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
    file.close()
    unmount()
  }
  try {
    return { tensors: datasetsOf(h5wasm, path, file, size), attributes: textAttributes(file), close }
  } catch (cause) {
    close()
    throw cause instanceof Error && 'code' in cause ? cause : corrupt(path, 'its HDF5 objects are damaged', cause)
  }
}

function datasetsOf(h5wasm: Library, path: string, file: File, fileSize: number): StoredTensor[] {
  const tensors: StoredTensor[] = []
  let objects = 0
  const visit = (group: Group, prefix: string): void => {
    for (const key of group.keys()) {
      if (++objects > fileSize / BYTES_PER_OBJECT) throw corrupt(path, 'its HDF5 groups contain themselves')
      const item = group.get(key)
      const name = joinedName(path, prefix, '/', key)
      if (item instanceof h5wasm.Group) visit(item, name)
      else if (item instanceof h5wasm.Dataset) tensors.push(storedTensor(path, name, item, fileSize))
    }
  }
  visit(file, '')
  return tensors
}

function storedTensor(path: string, name: string, dataset: Dataset, fileSize: number): StoredTensor {
  const shape = dataset.shape ?? []
  const dtype = String(dataset.dtype)
  const read = async (): Promise<FloatArray> => {
    const { chunks, size, virtual_sources: elsewhere } = dataset.metadata
    if (elsewhere !== undefined) throw unsupported(path, `tensors must be within the file: ${name} is in others`)
    checkedCount(path, name, shape, ((chunks === null ? 1 : LARGEST_RATIO) * fileSize) / size)
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

function textAttributes(file: File): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, attribute] of Object.entries(file.attrs)) {
    const { value } = attribute
    if (typeof value === 'string') texts.set(name, value)
    else if (value instanceof Uint8Array) texts.set(name, new TextDecoder().decode(value))
  }
  return texts
}
