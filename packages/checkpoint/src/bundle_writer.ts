import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  ASYNC_ITERABLE,
  checkArguments,
  checkOptions,
  either,
  fields,
  ITERABLE,
  integerFrom,
  kind,
  OBJECT,
  optional,
  PATH,
  POSITIVE,
  TEXT,
} from '@cudnn-rnn/arguments'
import { makeDirectory, maskCrc } from '@cudnn-rnn/files'
import { encodeBundleEntry } from './bundle_messages.js'
import { DTYPES } from './dtype.js'
import { CheckpointError, isCheckpointError } from './errors.js'
import type { Retention } from './rotation.js'
import { commitSave } from './save_commit.js'
import { compareBytes, type TableEntry } from './table_reader.js'
import { createFile, isSystemError, removeQuietly, temporaryPath, writeAll } from './temporary_file.js'
import { checkWritable, type WritableTensor } from './tensor.js'
import { encodeElements } from './tensor_bytes.js'

/** A tensor and its name, as {@link writeCheckpoint} takes them. */
export type NamedTensor = readonly [name: string, tensor: WritableTensor]

export interface WriteCheckpointOptions {
  /** Notes the checkpoint in the directory's state file as the newest, and deletes older ones. Default: neither. */
  readonly retention?: Retention | undefined
}

const ARGUMENTS = {
  prefix: PATH,
  tensors: either(ITERABLE, ASYNC_ITERABLE),
}
const RETENTION = fields({ maxToKeep: integerFrom(0), keepCheckpointEveryNHours: POSITIVE })
const NAMED_TENSOR = {
  entry: kind('a pair [name, tensor]', (value) => Array.isArray(value) && value.length === 2),
}

/**
 * Writes a TensorFlow V2 checkpoint with one data file: complete, or not at all.
 *
 * Tensors are taken one by one and written as they come, in ascending order of names where the caller gives them so, as
 * TensorFlow does; the index is sorted in any case. Any number of threads and processes may write into one directory at
 * once. Over a checkpoint of the same prefix, the old one is whole until one rename makes it the new one. When writing
 * fails, everything is as it was before.
 *
 * @param prefix path without the endings `.index` and `.data-…`; its directory is made when it is missing.
 * @throws CheckpointError `ERR_TENSOR_INVALID` (a name twice, or data that does not fit), `ERR_CHECKPOINT_IO`,
 *   `ERR_CHECKPOINT_LOCKED` where another process keeps the directory locked for minutes
 */
export async function writeCheckpoint(
  prefix: string,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
  options: WriteCheckpointOptions = {},
): Promise<void> {
  checkArguments('write checkpoint', { prefix, tensors }, ARGUMENTS)
  checkOptions('write checkpoint', options, { retention: optional(RETENTION) })
  const { retention } = options
  const data = temporaryPath(`${prefix}.data`)
  try {
    await makeDirectory(dirname(prefix))
    const entries = await createFile(data, (file) => writeElements(file, tensors))
    await commitSave(prefix, data, entries, retention)
  } catch (cause) {
    await removeQuietly(data)
    if (isCheckpointError(cause) || !isSystemError(cause)) throw cause
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot write checkpoint (${cause.message})`, {
      path: prefix,
      cause,
    })
  }
}

/** Writes the elements of all tensors; returns their entries in the index, ascending by name. */
async function writeElements(
  file: FileHandle,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
): Promise<TableEntry[]> {
  const entries = new Map<string, TableEntry>()
  const encoder = new TextEncoder()
  let offset = 0
  for await (const entry of tensors) {
    checkArguments('write checkpoint', { entry }, NAMED_TENSOR)
    const [name, tensor] = entry
    checkArguments('write checkpoint', { name, tensor }, { name: TEXT, tensor: OBJECT })
    const dtype = checkWritable(name, tensor)
    if (name === '' || name.startsWith('\0') || entries.has(name)) {
      const rule = entries.has(name) ? 'there is one of this name already' : 'its name is not allowed'
      throw new CheckpointError('ERR_TENSOR_INVALID', `Cannot write tensor ${JSON.stringify(name)} as ${rule}`, {
        tensorName: name,
      })
    }
    const { bytes, checksum } = encodeElements(dtype, tensor.data)
    await writeAll(file, bytes)
    const place = { dtypeId: DTYPES[dtype].id, shape: tensor.shape, shard: 0, offset, size: bytes.length }
    entries.set(name, { key: encoder.encode(name), value: encodeBundleEntry({ ...place, crc: maskCrc(checksum) }) })
    offset += bytes.length
  }
  return [...entries.values()].sort((a, b) => compareBytes(a.key, b.key))
}
