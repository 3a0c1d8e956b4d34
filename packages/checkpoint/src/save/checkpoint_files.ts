import { rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { decodeBundleHeader } from '../bundle/bundle_messages.js'
import { CheckpointError } from '../errors.js'
import { memorySource } from '../store/byte_source.js'
import { isSystemError, namesIn } from '../store/temporary_file.js'
import { readTable } from '../table/table_reader.js'

const ENDING = /^\.(?:data-\d{5}-of-(\d{5})|meta)$/

/** A file of a V2 checkpoint other than its index. */
interface CheckpointFile {
  readonly name: string
  /** The number of shards in the name of a data file; undefined for `.meta`. */
  readonly numShards: number | undefined
}

/** The data files and the graph of `<directory>/<base>` among the names of that directory. */
export function checkpointFiles(names: readonly string[], base: string): CheckpointFile[] {
  return names.flatMap((name) => {
    const match = name.startsWith(base) ? ENDING.exec(name.slice(base.length)) : null
    return match === null ? [] : [{ name, numShards: match[1] === undefined ? undefined : Number(match[1]) }]
  })
}

/**
 * Deletes a checkpoint, its index first: without it the rest is none. A state file may name any path, so nothing outside
 * `directory` is touched.
 */
export async function removeCheckpoint(directory: string, prefix: string): Promise<void> {
  if (resolve(dirname(prefix)) !== resolve(directory)) return
  await rm(`${prefix}.index`, { force: true })
  for (const { name } of checkpointFiles(await namesIn(directory), basename(prefix))) {
    await rm(join(directory, name), { force: true })
  }
}

/** Deletes data files that the index of a checkpoint does not use; all of them if the index is missing. */
export async function removeUnusedData(prefix: string): Promise<void> {
  const directory = dirname(prefix)
  const used = await numShardsOf(prefix)
  if (used === undefined) return
  for (const { name, numShards } of checkpointFiles(await namesIn(directory), basename(prefix))) {
    if (numShards !== undefined && numShards !== used) await rm(join(directory, name), { force: true })
  }
}

/** 0 without an index; undefined if it is damaged. */
async function numShardsOf(prefix: string): Promise<number | undefined> {
  try {
    const path = `${prefix}.index`
    const [header] = await readTable(memorySource(path, await readRegularFile(path)))
    return header === undefined ? undefined : decodeBundleHeader(header.value).numShards
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return 0
    if (error instanceof CheckpointError) return undefined
    throw error
  }
}
