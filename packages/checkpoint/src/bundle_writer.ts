import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { encodeBundleEntry, encodeBundleHeader } from './bundle_messages.js'
import { shardPath } from './bundle_reader.js'
import { maskCrc } from './crc32c.js'
import { DTYPES } from './dtype.js'
import { CheckpointError, isCheckpointError } from './errors.js'
import { LARGEST_TRANSFER } from './file_source.js'
import { compareBytes, type TableEntry } from './table_reader.js'
import { encodeTable } from './table_writer.js'
import { checkWritable, type WritableTensor } from './tensor.js'
import { encodeElements } from './tensor_bytes.js'

/** A tensor and its name, as {@link writeCheckpoint} takes them. */
export type NamedTensor = readonly [name: string, tensor: WritableTensor]

/**
 * Writes a TensorFlow V2 checkpoint with one data file: complete, or not at all.
 *
 * Tensors are taken one by one and written as they come, in ascending order of names where the caller gives them so, as
 * TensorFlow does; the index is sorted in any case. Both files are written beside, flushed to the disk, and renamed, the
 * index last: without its index a checkpoint does not exist. When writing fails, what was written is removed and a
 * checkpoint that was there before is as it was.
 *
 * @param prefix path without the endings `.index` and `.data-00000-of-00001`; its directory is made when it is missing.
 * @throws CheckpointError `ERR_TENSOR_INVALID` (a name twice, or data that does not fit), `ERR_CHECKPOINT_IO`
 */
export async function writeCheckpoint(
  prefix: string,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
): Promise<void> {
  const temporary = `${prefix}.tempstate${randomUUID().replaceAll('-', '')}`
  const paths = { data: shardPath(prefix, 0, 1), index: `${prefix}.index` }
  const beside = { data: shardPath(temporary, 0, 1), index: `${temporary}.index` }
  try {
    await mkdir(dirname(prefix), { recursive: true })
    const entries = await withFile(beside.data, (file) => writeElements(file, tensors))
    await withFile(beside.index, (file) => writeAll(file, encodeTable(entries)))
    // An index of before would describe the new data wrongly, so for the moment of the renames a checkpoint that is
    // replaced does not exist. Savers give every checkpoint a prefix of its own: theirs never pass through this.
    await rm(paths.index, { force: true })
    await rename(beside.data, paths.data)
    await rename(beside.index, paths.index)
    await flushDirectory(dirname(prefix))
  } catch (cause) {
    await Promise.allSettled([rm(beside.data, { force: true }), rm(beside.index, { force: true })])
    if (isCheckpointError(cause) || !isSystemError(cause)) throw cause
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot write checkpoint (${cause.message})`, {
      path: prefix,
      cause,
    })
  }
}

async function writeElements(
  file: FileHandle,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
): Promise<TableEntry[]> {
  const entries = new Map<string, TableEntry>()
  const encoder = new TextEncoder()
  let offset = 0
  for await (const [name, tensor] of tensors) {
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
  const header = { key: new Uint8Array(0), value: encodeBundleHeader(1) }
  return [header, ...[...entries.values()].sort((a, b) => compareBytes(a.key, b.key))]
}

/** Creates a file, lets `write` fill it, and flushes it to the disk. */
async function withFile<Result>(path: string, write: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const file = await open(path, 'wx')
  try {
    const result = await write(file)
    await file.sync()
    return result
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, Math.min(bytes.length - done, LARGEST_TRANSFER))).bytesWritten
  }
}

/** Makes renames last through a power failure; not every system can flush a directory, nor needs to. */
export async function flushDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, 'r')
    await directory.sync().finally(() => directory.close())
  } catch (error) {
    if (!isSystemError(error)) throw error
  }
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
