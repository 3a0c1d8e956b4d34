import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { WeightFileError } from './errors.js'
import type { ArchiveEntry } from './files/zip_archive.js'
import type { WeightFormat } from './weight_file.js'

const HDF5 = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]
const ZIP = [0x50, 0x4b, 0x03, 0x04]
const PICKLE = [0x80]
const GZIP = [0x1f, 0x8b]

/** Detection by the first bytes; for a zip archive {@link detectZip} decides. */
export async function detectFormat(source: ByteSource): Promise<WeightFormat | 'zip'> {
  const first = await source.read(0, Math.min(16, source.size))
  const begins = (magic: readonly number[]) => magic.every((byte, index) => first[index] === byte)
  if (begins(HDF5)) return 'keras-h5'
  if (begins(ZIP)) return 'zip'
  if (first.length >= 10 && first[8] === 0x7b) return 'safetensors'
  // A ModelProto begins with ir_version, field 1, a small number.
  if (first[0] === 0x08 && (first[1] ?? 0xff) < 0x40) return 'onnx'
  if (beginsWithNames(first)) return 'flax'
  throw unknown(source.name, first.length === 0 ? 'It is empty' : adviceFor(begins))
}

/**
 * Whether a map with names begins, as in a Flax file. fixmap, map16 and map32 of MessagePack alone are also the first bytes of a
 * PNG and of other files, so the first key must be a text: fixstr, str8, str16 or str32.
 */
function beginsWithNames(first: Uint8Array): boolean {
  const map = first[0] ?? 0
  const isFixmap = map > 0x80 && map <= 0x8f
  if (!isFixmap && map !== 0xde && map !== 0xdf) return false
  const key = first[isFixmap ? 1 : map === 0xde ? 3 : 5] ?? 0
  return (key & 0xe0) === 0xa0 || (key >= 0xd9 && key <= 0xdb)
}

/** Detection by the files of a zip archive. */
export function detectZip(path: string, entries: ReadonlyMap<string, ArchiveEntry>): WeightFormat {
  const names = [...entries.keys()]
  if (names.some((name) => name.endsWith('/data.pkl'))) return 'pytorch'
  if (names.includes('model.weights.h5')) return 'keras-archive'
  if (names.some((name) => name.endsWith('.npy'))) return 'npz'
  if (names.some((name) => name.endsWith('/models/model.json'))) {
    throw unknown(
      path,
      'It is a program of torch.export: torch.save(torch.export.load(file).state_dict, target) writes its weights',
    )
  }
  throw unknown(path, `It is a zip archive of ${names.slice(0, 5).join(', ')}`)
}

function adviceFor(begins: (magic: readonly number[]) => boolean): string {
  if (begins(PICKLE)) {
    return 'It is a pickle, as PyTorch before 1.6 wrote: load it there and save the state_dict again, or as safetensors'
  }
  if (begins(GZIP)) return 'It is compressed: unpack it first'
  return 'Name one by the option format if this is wrong'
}

function unknown(path: string, advice: string): WeightFileError {
  return new WeightFileError(
    'ERR_WEIGHTS_FORMAT',
    `Cannot import weights as the file is of no known format (safetensors, PyTorch zip, NumPy npz, ONNX, Keras h5 or .keras, Flax msgpack, TensorFlow checkpoint). ${advice}`,
    { path },
  )
}
