import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import {
  type AnyRule,
  isBytes,
  checkArguments,
  fields,
  isResponse,
  kind,
  methods,
  oneOf,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import {
  type BlobLike,
  type ByteSource,
  blobSource,
  CheckpointError,
  memorySource,
  openFileSource,
  type ResponseLike,
  responseSource,
} from '@cudnn-rnn/checkpoint'
import { AGENT, detectFormat, detectZip, type FileKind } from './detect_format.js'
import { calledAlike, noneNamed, unsupported, WeightFileError } from './errors.js'
import { closingOnError } from './files/closing_on_error.js'
import { openFlax } from './files/flax_file.js'
import { openKerasArchive, openKerasH5 } from './files/keras_files.js'
import { openOnnx } from './files/onnx_file.js'
import { openSafetensors } from './files/safetensors_reader.js'
import { openShards } from './files/sharded_file.js'
import { openTensorflow, openTensorflowFiles } from './files/tensorflow_file.js'
import { openTfjsModel } from './files/tfjs_file.js'
import { openTorchLegacy } from './files/torch_legacy_file.js'
import { openTorchZip } from './files/torch_zip_file.js'
import { type OpenWeightFile, WEIGHT_FORMATS, type WeightFile, type WeightFormat } from './weight_file.js'

/**
 * A file to read: its path (of a TensorFlow checkpoint its prefix or directory), its bytes, a browser's `File` or `Blob`, a
 * `Response` of `fetch`, or random access to it. A list has the files of one TensorFlow checkpoint, or one file; a response
 * in it has the name at the end of its address.
 */
export type WeightInput = string | Uint8Array | BlobLike | ResponseLike | ByteSource | readonly NamedInput[]

/** A browser's `File`. */
type NamedBlob = BlobLike & { readonly name: string }

/** A file of a list. */
type NamedInput = NamedBlob | ResponseLike

/**
 * Opens a weight file and lists its tensors; close it after use, or let `await using` close it.
 *
 * @param format if the file's first bytes need not be asked.
 * @throws WeightFileError; TypeError `ERR_INVALID_ARGUMENT` for an input of another kind
 * @example
 * ```ts
 * import { openWeightFile } from '@cudnn-rnn/rnn/interop'
 *
 * const file = await openWeightFile('../fixtures/interop/guide/sine.pt')
 * console.log(file.format, file.tensors.length) // pytorch 24
 * const { data, shape } = await file.tensor('model.head.weight')
 * console.log(data.length, shape) // 8 [1, 8]
 * await file.close()
 * ```
 */
export async function openWeightFile(input: WeightInput, format?: WeightFormat): Promise<OpenWeightFile> {
  checkArguments('import weights', { input, format }, { input: INPUT, format: optional(oneOf(WEIGHT_FORMATS)) })
  const file = await openOf(input, format)
  const twice = nameOfSeveral(file)
  if (twice !== undefined) {
    await file.close()
    throw calledAlike(file.path, twice)
  }
  return Object.assign(file, {
    tensor: (name: string) => tensorOf(file, name),
    [Symbol.asyncDispose]: () => file.close(),
  })
}

/** A name of two tensors, such as `a.b` beside a dict `a`. The graphs of an ONNX model may have equal names. */
function nameOfSeveral({ format, tensors }: WeightFile): string | undefined {
  const names = new Set<string>()
  return format === 'onnx' ? undefined : tensors.find(({ name }) => names.size === names.add(name).size)?.name
}

async function tensorOf({ path, tensors }: WeightFile, name: string): Promise<Tensor<FloatArray>> {
  const stored = tensors.find((tensor) => tensor.name === name)
  if (stored !== undefined) return { data: await stored.read(), shape: stored.shape }
  throw noneNamed(path, 'read a tensor', name, tensors)
}

async function openOf(given: WeightInput, format: WeightFormat | undefined): Promise<WeightFile> {
  const only = isList(given) && given.length === 1 ? given[0] : undefined
  const input = only !== undefined && !fileName(only).endsWith('.index') ? only : given
  if (isList(input)) return openTensorflowFiles(input.map((file) => [fileName(file), file]))
  if (typeof input === 'string') {
    const isDirectory = await isDirectoryAt(input)
    if (format === 'tensorflow' || isDirectory || existsSync(`${input}.index`))
      return openTensorflow(input, isDirectory)
  }
  const source = await sourceOf(input)
  return closingOnError(source, async () => {
    checkIsNoShard(source.name)
    return open(source, await kindOf(source, format), typeof input === 'string')
  })
}

/** The kind of a file, also of one whose format the caller names: it may be in an older container or in shards. */
async function kindOf(source: ByteSource, format: WeightFormat | undefined): Promise<FileKind> {
  if (format === undefined) return detectFormat(source)
  const found = await detectFormat(source).catch(() => format)
  return found === 'shards' || found === 'torch-legacy' ? found : format
}

/** The name of a shard of a model: huggingface/transformers writes them from a size on. */
const SHARD = /^(.*?)-\d{5}-of-(\d{5})(\.\w+)$/
/** Keras' shards have names that epochs have as well: the index beside them decides. */
const KERAS_SHARD = /_\d{5}\.weights\.h5$/

/** Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for a part of a model: a network may continue in another part. */
function checkIsNoShard(path: string): void {
  const name = path.replace(/[?#].*$/, '').replace(/^.*[\\/]/, '')
  const [, model, count, extension] = SHARD.exec(name) ?? []
  const indexOfKeras = name.replace(KERAS_SHARD, '.weights.json')
  const isOfKeras = indexOfKeras !== name && existsSync(path.replace(KERAS_SHARD, '.weights.json'))
  if (!(Number(count) > 1) && !isOfKeras) return
  const index = isOfKeras ? indexOfKeras : `${model}${extension}.index.json`
  const what = isOfKeras ? 'a shard' : `one of ${Number(count)} shards`
  throw unsupported(
    path,
    `a model must be whole: it is ${what}, which ${index} lists. Give the path of ${index}, with all shards beside it`,
  )
}

const BYTE_SOURCE = methods('a ByteSource', 'read', 'close')
const NAMED = fields({ name: TEXT })

const INPUT = kind(
  'a path, a Uint8Array, a Blob, a Response, a ByteSource or a list of Files',
  (input): input is WeightInput =>
    typeof input === 'string' ||
    isBytes(input) ||
    follows(input, BYTE_SOURCE, NAMED) ||
    isBlob(input) ||
    isResponse(input) ||
    // A copy is checked, as every() leaves out the holes of an array.
    (Array.isArray(input) && Array.from<unknown>(input).every(isNamedInput)),
)

function follows(value: unknown, ...rules: readonly AnyRule[]): boolean {
  return rules.every((rule) => rule.find(value, 'input') === undefined)
}

function isList(input: WeightInput): input is readonly NamedInput[] {
  return Array.isArray(input)
}

function isNamedInput(file: unknown): file is NamedInput {
  return (isBlob(file) && follows(file, NAMED)) || isResponse(file)
}

/** The file's name; for a response the last part of its address, without a query. */
function fileName(file: NamedInput): string {
  return 'name' in file ? file.name : file.url.replace(/[?#].*$/, '').replace(/^.*\//, '')
}

function isBlob(input: unknown): input is BlobLike {
  if (typeof input !== 'object' || input === null) return false
  return 'slice' in input && typeof input.slice === 'function' && 'arrayBuffer' in input
}

/** Throws WeightFileError `ERR_WEIGHTS_IO` if the system does not say, as for a loop of links. */
async function isDirectoryAt(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (cause) {
    // A checkpoint's prefix is not a file itself.
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw new WeightFileError('ERR_WEIGHTS_IO', `Cannot import weights (${message})`, { path, cause })
  }
}

async function open(source: ByteSource, format: FileKind, isPath: boolean): Promise<WeightFile> {
  const { name: path } = source
  if (format === 'shards') {
    return openShards(source, isPath, async (shard) => {
      const kind = await detectFormat(shard)
      if (kind === 'shards') throw unsupported(path, `its shards must have tensors: ${shard.name} is an index, too`)
      return open(shard, kind, true)
    })
  }
  if (format === 'torch-legacy') return openTorchLegacy(source)
  if (format === 'safetensors') return openSafetensors(source)
  if (format === 'onnx') return openOnnx(source, isPath)
  if (format === 'flax') return openFlax(source)
  if (format === 'keras-h5') return openKerasH5(source, isPath)
  if (format === 'keras-json') return openTfjsModel(source, isPath)
  // The readers of archives are loaded with the first of them.
  const { openZip } = await import('./files/zip_archive.js')
  const archive = await openZip(source)
  const inner = format === 'zip' ? detectZip(archive) : format
  const agent = inner === 'agent' ? archive.entries.get(AGENT) : undefined
  if (agent !== undefined) {
    const policy = await openZip(memorySource(`${path}/${AGENT}`, await agent.read()))
    return openTorchZip({ ...policy, path, close: archive.close })
  }
  if (inner === 'npz') return (await import('./files/npz_file.js')).openNpz(archive)
  if (inner === 'keras-archive') return openKerasArchive(archive)
  return openTorchZip(archive)
}

/** Random access to a file that {@link openWeightFile} takes; throws as it does. */
export async function openSource(input: WeightInput): Promise<ByteSource> {
  checkArguments('import weights', { input }, { input: INPUT })
  const only = isList(input) ? input[0] : input
  if (only !== undefined && !(isList(input) && input.length > 1)) return sourceOf(only)
  throw unsupported('(list)', 'one file must be given')
}

async function sourceOf(input: Exclude<WeightInput, readonly NamedInput[]>): Promise<ByteSource> {
  if (isBytes(input)) return memorySource('(bytes)', input)
  if (isBlob(input)) return blobSource(nameOf(input), input)
  if (typeof input === 'string')
    return present(input, openFileSource(input), 'it is not a regular file', 'the file does not exist (check the path)')
  if (!isResponse(input)) return input
  const { url, status } = input
  const path = url === '' ? '(response)' : url
  const missing = `the server has no such file: it answered ${status}`
  return present(path, responseSource(path, input), `the server answered ${status}`, missing)
}

/**
 * The source of a file.
 *
 * @param reason for an error without a cause.
 * @param missing the rule that is broken if the file does not exist.
 */
async function present(
  path: string,
  opened: Promise<ByteSource | undefined>,
  reason: string,
  missing: string,
): Promise<ByteSource> {
  const source = await opened.catch((cause: unknown) => {
    if (!(cause instanceof CheckpointError)) throw cause
    const message = cause.cause instanceof Error ? cause.cause.message : reason
    throw new WeightFileError('ERR_WEIGHTS_IO', `Cannot import weights (${message})`, { path, cause })
  })
  if (source !== undefined) return source
  throw new WeightFileError('ERR_WEIGHTS_NOT_FOUND', `Cannot import weights as ${missing}`, { path })
}

function nameOf(blob: BlobLike): string {
  return 'name' in blob && typeof blob.name === 'string' ? blob.name : '(blob)'
}
