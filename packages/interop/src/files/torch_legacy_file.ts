import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { ELEMENT_TYPES, elementTypeOf } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { WeightFile } from '../weight_file.js'
import { type PickleRead, readPickle } from './pickle_reader.js'
import { PickleDict, type PickleStorage } from './pickle_values.js'
import { type StorageBytes, torchWeights } from './torch_contents.js'

/** Pickles before the storages: a magic number, the version, the system that wrote, the saved value, and keys of storages. */
const PICKLES = 5
/** Pickles of state dicts are some kilobytes. A longer one is read again, four times as far each time. */
const FIRST_BYTES = 2 ** 20
/** A storage begins with the number of its elements. */
const COUNT_BYTES = 8

/** Bytes of an element of storages that are not read. */
const OTHER_BYTES: ReadonlyMap<string, number> = new Map([
  ['ComplexFloatStorage', 8],
  ['ComplexDoubleStorage', 16],
  ['QInt8Storage', 1],
  ['QUInt8Storage', 1],
  ['QInt32Storage', 4],
  ['QUInt4x2Storage', 1],
  ['QUInt2x4Storage', 1],
  ['UntypedStorage', 1],
])

/**
 * Opens the format of `torch.save` before PyTorch 1.6, and of `_use_new_zipfile_serialization=False`: pickles one after
 * another, then the storages in the order of the last pickle. Source: torch/serialization.py, `_legacy_save`.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_PICKLE`, `ERR_WEIGHTS_UNSUPPORTED`
 */
export async function openTorchLegacy(source: ByteSource): Promise<WeightFile> {
  const { name: path, size } = source
  const [, , system, saved, listed] = await picklesOf(source)
  if (system?.value instanceof PickleDict && system.value.get('little_endian') === false) {
    throw unsupported(path, 'its elements are not little-endian')
  }
  const keys = listed?.value
  if (saved === undefined || !Array.isArray(keys)) throw corrupt(path, 'it has no list of storages')
  const places = new Map<string, StorageBytes>()
  let at = listed?.end ?? size
  for (const key of keys) {
    const storage = typeof key === 'string' ? saved.storages.get(key) : undefined
    if (storage === undefined) throw corrupt(path, 'it lists a storage that its pickle does not name')
    const start = at + COUNT_BYTES
    if (start > size) throw corrupt(path, `the storage ${storage.key} is missing`)
    const count = await source.read(at, COUNT_BYTES)
    const bytes =
      Number(new DataView(count.buffer, count.byteOffset).getBigUint64(0, true)) * elementBytes(path, storage)
    at = start + bytes
    if (at > size) throw corrupt(path, `the storage ${storage.key} is cut`)
    places.set(storage.key, { size: bytes, read: () => source.read(start, bytes) })
  }
  return torchWeights(
    path,
    size,
    saved.value,
    (key) => places.get(key),
    () => source.close(),
  )
}

async function picklesOf(source: ByteSource): Promise<PickleRead[]> {
  const { name: path, size } = source
  for (let length = Math.min(FIRST_BYTES, size); ; length = Math.min(4 * length, size)) {
    const bytes = await source.read(0, length)
    const pickles: PickleRead[] = []
    try {
      while (pickles.length < PICKLES) pickles.push(readPickle(path, bytes, size, pickles.at(-1)?.end))
      return pickles
    } catch (error) {
      if (length === size || !hasErrorCode(error, 'ERR_WEIGHTS_CORRUPT')) throw error
    }
  }
}

function elementBytes(path: string, { type }: PickleStorage): number {
  const known = elementTypeOf('torch', type)
  const bytes = known === undefined ? OTHER_BYTES.get(type) : ELEMENT_TYPES[known].bytes
  if (bytes !== undefined) return bytes
  throw unsupported(
    path,
    `the size of an element must be known: it has a ${type}. Save it again with PyTorch 1.6 or later`,
  )
}
