import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { WeightFileError } from './errors.js'
import type { ZipArchive } from './files/zip_archive.js'
import type { WeightFormat } from './weight_file.js'

const HDF5 = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]
const ZIP = [0x50, 0x4b, 0x03, 0x04]
/** The number that begins a file of PyTorch before 1.6, behind the protocol or a frame: torch/serialization.py, MAGIC_NUMBER. */
const LEGACY_TORCH = [0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19]
const PICKLE = [0x80]
const GZIP = [0x1f, 0x8b]

/** A format, or a form of file that has tensors of several: an archive, whose files decide by {@link detectZip}, or an index. */
export type FileKind = WeightFormat | 'zip' | 'torch-legacy' | 'shards'

export async function detectFormat(source: ByteSource): Promise<FileKind> {
  const first = await source.read(0, Math.min(32, source.size))
  const begins = (magic: readonly number[], at = 0) => magic.every((byte, index) => first[at + index] === byte)
  if (begins(HDF5)) return 'keras-h5'
  if (begins(ZIP)) return 'zip'
  if (first.length >= 10 && first[8] === 0x7b) return 'safetensors'
  // A ModelProto begins with ir_version, field 1, a small number, and has texts or the graph behind it. A Core ML model has
  // its description there, which is a message of messages, and a SavedModel a message of its graph.
  if (first[0] === 0x08 && (first[1] ?? 0xff) < 0x40) {
    const other = await protobufAdvice(source)
    if (other === undefined) return 'onnx'
    throw unknown(source.name, other)
  }
  if (beginsWithNames(first)) return 'flax'
  if (begins(PICKLE) && (begins(LEGACY_TORCH, 2) || begins(LEGACY_TORCH, 11))) return 'torch-legacy'
  const kind = begins([BRACE]) ? await jsonKind(source) : undefined
  if (kind !== undefined) return kind
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

/** The state dict in an archive of Stable-Baselines3. */
export const AGENT = 'policy.pth'

export function detectZip({ path, entries }: ZipArchive): WeightFormat | 'agent' {
  const names = [...entries.keys()]
  if (names.some((name) => name.endsWith('/data.pkl'))) return 'pytorch'
  if (names.includes('model.weights.h5')) return 'keras-archive'
  if (names.some((name) => name.endsWith('.npy'))) return 'npz'
  if (names.includes(AGENT)) return 'agent'
  if (names.some((name) => name.endsWith('/models/model.json'))) {
    throw unknown(
      path,
      'It is a program of torch.export: torch.save(torch.export.load(file).state_dict, target) writes its weights',
    )
  }
  throw unknown(
    path,
    `It is a zip archive of ${names.slice(0, 5).join(', ')}: unpack it, and import the file of weights in it`,
  )
}

function adviceFor(begins: (magic: readonly number[], at?: number) => boolean): string {
  if (begins(PICKLE)) {
    return 'It is a pickle, which is not loaded: numpy.savez(file, **arrays) writes a dict of NumPy arrays as npz'
  }
  if (begins(GZIP)) return 'It is compressed: unpack it first'
  if (begins(TFLITE, 4)) {
    return 'It is a model of TensorFlow Lite, whose weights lie in a graph without layers: import the Keras model or the checkpoint that it was made from'
  }
  if (begins([BRACE]) || begins([BRACKET])) {
    return 'It begins as JSON, which has no tensors of a known kind: name the file of weights that it belongs to, such as the .bin or .h5 beside it, or write its arrays with numpy.savez'
  }
  // NodeDef, field 1 of a GraphDef, begins with its name, field 1.
  if (begins([0x0a]) && begins([0x0a], 2)) {
    return 'It may be a frozen graph of TensorFlow: python -m tf2onnx.convert --graphdef file --inputs … --outputs … writes it as ONNX, which is read'
  }
  return 'If it is one of these, it is damaged or incomplete'
}

const TFLITE = [0x54, 0x46, 0x4c, 0x33]
const BRACE = 0x7b
const BRACKET = 0x5b

/** A model.json of TensorFlow.js begins with its format, texts about its origin, or the model; an index with sizes or names. */
async function jsonKind(source: ByteSource): Promise<FileKind | undefined> {
  const head = new TextDecoder().decode(await source.read(0, Math.min(FIRST_KEYS, source.size)))
  if (/"(?:modelTopology|weightsManifest)"/.test(head)) return 'keras-json'
  return /"weight_map"\s*:\s*\{/.test(head) ? 'shards' : undefined
}

/** Bytes in which the first keys of a model.json are. */
const FIRST_KEYS = 4096

/** Bytes in which the first fields of a model are. */
const FIRST_FIELDS = 64

/** The kind of a file that begins like a ModelProto, if its second field is another message's. */
async function protobufAdvice(source: ByteSource): Promise<string | undefined> {
  const bytes = await source.read(0, Math.min(FIRST_FIELDS, source.size))
  // Behind field 1: a field 2 of bytes. It is producer_name of ONNX, a text, description of Core ML, and meta_graphs of a
  // SavedModel.
  if (bytes[2] !== 0x12) return undefined
  let at = 3
  while ((bytes[at] ?? 0) >= 0x80) at++
  const inner = bytes[at + 1]
  if (inner === 0x0a && bytes[1] === 0x01) {
    return "It may be a SavedModel: give the directory that saved_model.pb is in, or write the model with Keras' model.save('model.keras')"
  }
  return inner === 0x0a
    ? 'It may be a model of Core ML: import the model that it was converted from, or write its arrays with numpy.savez'
    : undefined
}

function unknown(path: string, advice: string): WeightFileError {
  return new WeightFileError(
    'ERR_WEIGHTS_FORMAT',
    `Cannot import weights as the file is of no known format (safetensors, PyTorch zip, NumPy npz, ONNX, Keras h5 or .keras, TensorFlow.js model.json, Flax msgpack, TensorFlow checkpoint). ${advice}`,
    { path },
  )
}
