import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hasErrorCode, madeIn } from '@cudnn-rnn/canonical/rules'
import {
  type BlobLike,
  type ByteSource,
  type CheckpointReader,
  latestCheckpoint,
  openCheckpoint,
  openCheckpointFrom,
  type ResponseLike,
  responseSource,
} from '@cudnn-rnn/checkpoint'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { unsupported, WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { closingOnError } from './closing_on_error.js'
import { OBJECT_GRAPH, objectNames } from './object_graph.js'
import { TensorList } from './tensor_list.js'

/**
 * Opens a TensorFlow checkpoint by its prefix, the latest of a directory, or a SavedModel's.
 *
 * @throws WeightFileError `ERR_WEIGHTS_NOT_FOUND`; CheckpointError for a damaged one
 */
export async function openTensorflow(path: string, isDirectory: boolean): Promise<WeightFile> {
  return weightFile(isDirectory ? await openLatest(path) : await openCheckpoint(path))
}

/**
 * Opens the TensorFlow V2 checkpoint of a list of files, such as those that were dropped on a page.
 *
 * @throws WeightFileError `ERR_WEIGHTS_NOT_FOUND` without an index, or with several; CheckpointError for a damaged one
 */
export async function openTensorflowFiles(
  files: readonly (readonly [name: string, file: BlobLike | ResponseLike])[],
): Promise<WeightFile> {
  const indexes = files.filter(([name]) => name.endsWith('.index'))
  const [index] = indexes
  if (index === undefined || indexes.length > 1) {
    throw new WeightFileError(
      'ERR_WEIGHTS_NOT_FOUND',
      `Cannot import weights as a list of files must have one .index, that of a TensorFlow checkpoint: current number is ${indexes.length}`,
      { path: files.map(([name]) => name).join(', ') },
    )
  }
  // The body of a response is read once, the index perhaps again.
  const bodies = new Map<string, Promise<ByteSource | undefined>>()
  const open = async (path: string) => {
    const file = files.find(([name]) => name === path)?.[1]
    if (file === undefined || !('blob' in file)) return file
    return madeIn(bodies, path, () => responseSource(path, file))
  }
  return weightFile(await openCheckpointFrom(index[0].slice(0, -'.index'.length), open))
}

function weightFile(reader: CheckpointReader): Promise<WeightFile> {
  return closingOnError(reader, async () => {
    const { prefix } = reader
    const keys = reader.names()
    const heldBytes = keys.reduce((sum, key) => sum + reader.byteLength(key), 0)
    const list = new TensorList(prefix, heldBytes)
    const names = objectNames(prefix, keys, await objectGraph(reader))
    for (const key of keys) {
      if (key === OBJECT_GRAPH) continue
      const name = names.has(key) ? names.get(key) : key
      if (name !== undefined) list.add({ ...storedTensor(reader, key), name })
    }
    return { format: 'tensorflow', path: prefix, heldBytes, tensors: list.tensors, close: () => reader.close() }
  })
}

async function objectGraph(reader: CheckpointReader): Promise<Uint8Array | undefined> {
  if (!reader.has(OBJECT_GRAPH) || reader.dtype(OBJECT_GRAPH) !== 'string') return undefined
  const [graph] = (await reader.read(OBJECT_GRAPH)).data as readonly Uint8Array[]
  return graph
}

/** Opens the newest checkpoint of a directory. One that a saver evicts meanwhile has a successor by then. */
async function openLatest(directory: string): Promise<CheckpointReader> {
  for (let last: string | undefined; ; ) {
    const prefix = await latestCheckpoint(directory)
    if (prefix === null) {
      for (const saved of ['variables/variables', 'variables']) {
        if (existsSync(join(directory, `${saved}.index`))) return openCheckpoint(join(directory, saved))
      }
      if (existsSync(join(directory, 'saved_model.pb'))) throw savedModel(directory)
      const message = 'Cannot import weights as the directory has no checkpoint (name its prefix, or another directory)'
      throw new WeightFileError('ERR_WEIGHTS_NOT_FOUND', message, { path: directory })
    }
    try {
      return await openCheckpoint(prefix)
    } catch (error) {
      if (!hasErrorCode(error, 'ERR_CHECKPOINT_NOT_FOUND') || prefix === last) throw error
      last = prefix
    }
  }
}

/** A SavedModel whose variables are in no checkpoint beside it: they are frozen into its graph. */
function savedModel(directory: string): WeightFileError {
  return unsupported(
    directory,
    "it is a SavedModel without its checkpoint variables/variables.index: write the model with Keras' model.save('model.keras') or model.save_weights('model.weights.h5'), or with tf2onnx",
  )
}

function storedTensor(reader: CheckpointReader, name: string): StoredTensor {
  const dtype = reader.dtype(name)
  const read = async () => {
    if (!Object.hasOwn(ELEMENT_TYPES, dtype)) {
      throw unsupported(reader.prefix, `weights are floating point: ${name} is ${dtype}`)
    }
    const { data } = await reader.read(name)
    if (data instanceof Float32Array || data instanceof Float64Array) return data
    return decodeElements(reader.prefix, name, dtype as ElementTypeName, littleEndianBytes(data as Uint16Array))
  }
  return { name, shape: reader.shape(name), dtype, read }
}
