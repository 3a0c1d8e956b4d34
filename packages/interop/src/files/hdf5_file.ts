import type { FloatArray } from '@cudnn-rnn/canonical'
import type { Dataset, File, Group } from 'h5wasm'
import { checkedCount } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../weight_file.js'

/** An HDF5 file, opened in memory. */
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

/** Files open at the same time have names of their own in the library's memory. */
let filesOpened = 0

/**
 * Opens an HDF5 file with the HDF5 library itself, compiled to WebAssembly: it sees a copy of `bytes` and no other file, so
 * external links lead nowhere.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`
 */
export async function openHdf5(path: string, bytes: Uint8Array): Promise<Hdf5File> {
  const { default: h5wasm } = await import('h5wasm')
  const module = await h5wasm.ready
  // Errors are thrown instead of printed.
  module.activate_throwing_error_handler()
  const name = `/weights_${filesOpened++}.h5`
  module.FS.writeFile(name, bytes)
  let file: File
  try {
    file = new h5wasm.File(name, 'r')
  } catch (cause) {
    module.FS.unlink(name)
    throw corrupt(path, 'it is no whole HDF5 file', cause)
  }
  const close = () => {
    file.close()
    module.FS.unlink(name)
  }
  try {
    return { tensors: datasetsOf(h5wasm, path, file, bytes.length), attributes: textAttributes(file), close }
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
      const name = `${prefix}${key}`
      if (item instanceof h5wasm.Group) visit(item, `${name}/`)
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
    checkedCount(path, name, shape, fileSize * LARGEST_RATIO)
    const value = elementsOf(path, name, dataset)
    if (value instanceof Float32Array || value instanceof Float64Array) return value
    if (typeof value === 'number') return Float32Array.of(value)
    throw unsupported(path, `weights are floating point: ${name} holds ${dtype}`)
  }
  return { name, shape, dtype, read }
}

function elementsOf(path: string, name: string, dataset: Dataset): unknown {
  try {
    return dataset.value
  } catch (cause) {
    throw corrupt(path, `${name} is damaged`, cause)
  }
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
