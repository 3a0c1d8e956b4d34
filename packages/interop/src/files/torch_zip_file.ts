import type { FloatArray } from '@cudnn-rnn/canonical'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor, WeightFile } from '../weight_file.js'
import { joinedName } from './joined_name.js'
import { PickleDict, PickleTensor, type PickleValue, readPickle } from './pickle_reader.js'
import type { ArchiveEntry } from './zip_archive.js'

/** Storages with elements of these types; others are listed and not read. */
const STORAGES: Readonly<Record<string, ElementTypeName>> = {
  DoubleStorage: 'float64',
  FloatStorage: 'float32',
  HalfStorage: 'float16',
  BFloat16Storage: 'bfloat16',
  LongStorage: 'int64',
  IntStorage: 'int32',
  ShortStorage: 'int16',
  CharStorage: 'int8',
  ByteStorage: 'uint8',
  BoolStorage: 'bool',
}

/** Nesting of dicts and lists in a checkpoint is shallow; a deeper one is a trap. */
const DEEPEST = 32

/**
 * Opens what `torch.save` writes since PyTorch 1.6: a zip of `data.pkl`, `byteorder` and one file `data/<key>` for each
 * storage. The pickle is read by an allow-list and never executed; storages are read when a tensor is.
 */
export async function openTorchZip(
  path: string,
  entries: ReadonlyMap<string, ArchiveEntry>,
  close: () => Promise<void>,
): Promise<WeightFile> {
  const pickle = [...entries.keys()].find((name) => name.endsWith('/data.pkl'))!
  const folder = pickle.slice(0, -'data.pkl'.length)
  const order = await entries.get(`${folder}byteorder`)?.read()
  if (order !== undefined && new TextDecoder().decode(order).trim() !== 'little') {
    throw unsupported(path, 'its elements are not little-endian')
  }
  const tensors: StoredTensor[] = []
  // A container is looked into once: a few bytes can make one appear any number of times.
  const seen = new Set<PickleValue>()
  const collect = (prefix: string, value: PickleValue, depth: number): void => {
    if (seen.has(value)) return
    if (typeof value === 'object') seen.add(value)
    if (depth > DEEPEST) throw corrupt(path, `its containers are more than ${DEEPEST} deep`)
    if (value instanceof PickleTensor) tensors.push(storedTensor(path, entries, folder, prefix, value))
    else if (value instanceof PickleDict) {
      for (const [key, item] of value) collect(joinedName(path, prefix, '.', String(key)), item, depth + 1)
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries())
        collect(joinedName(path, prefix, '.', String(index)), item, depth + 1)
    }
  }
  collect('', readPickle(path, await entries.get(pickle)!.read()), 0)
  return { format: 'pytorch', path, tensors, close }
}

function storedTensor(
  path: string,
  entries: ReadonlyMap<string, ArchiveEntry>,
  folder: string,
  name: string,
  { storage, offset, shape, strides }: PickleTensor,
): StoredTensor {
  const type = STORAGES[storage.type]
  const read = async () => {
    if (type === undefined) throw unsupported(path, `weights are floating point: ${name} is a ${storage.type}`)
    const entry = entries.get(`${folder}data/${storage.key}`)
    if (entry === undefined) throw corrupt(path, `the storage ${storage.key} of ${name} is missing`)
    checkedCount(path, name, shape, entry.size / ELEMENT_TYPES[type].bytes)
    return gather(path, name, decodeElements(path, name, type, await entry.read()), offset, shape, strides)
  }
  return { name, shape, dtype: type ?? storage.type, read }
}

/** The elements of a view, row-major. */
function gather(
  path: string,
  name: string,
  storage: FloatArray,
  offset: number,
  shape: readonly number[],
  strides: readonly number[],
): FloatArray {
  const count = shape.reduce((product, size) => product * size, 1)
  const last = shape.reduce((sum, size, axis) => sum + (size - 1) * strides[axis]!, offset)
  if (count > 0 && last >= storage.length) throw corrupt(path, `${name} reaches beyond its storage`)
  const data = storage instanceof Float64Array ? new Float64Array(count) : new Float32Array(count)
  const index = shape.map(() => 0)
  for (let to = 0, from = offset; to < count; to++) {
    data[to] = storage[from]!
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]!
      if (++index[axis]! < shape[axis]!) break
      from -= strides[axis]! * shape[axis]!
      index[axis] = 0
    }
  }
  return data
}
