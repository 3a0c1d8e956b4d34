import {
  checkArguments,
  checkOptions,
  FLAG,
  FUNCTION,
  type OptionsOf,
  optional,
  PATH,
} from '@cudnn-rnn/canonical/rules'
import { BundleReader } from './bundle/bundle_reader.js'
import { type ByteInput, byteSourceOf } from './store/byte_input.js'
import type { ByteSource } from './store/byte_source.js'
import type { CheckpointReader } from './bundle/checkpoint_reader.js'
import { CheckpointV1Reader } from './bundle/checkpoint_v1_reader.js'
import { CheckpointError } from './errors.js'
import { readTable, type TableEntry } from './table/table_reader.js'

/**
 * Opens a file by its path, in any form: a source, bytes, a `Blob`, or a `Response` of `fetch`. If the file does not exist, the
 * result is undefined or a response of status 404 or 410.
 */
export type OpenByteSource = (path: string) => Promise<ByteInput | undefined>

const ARGUMENTS = { prefix: PATH, open: FUNCTION }
export const OPEN_OPTIONS = {
  /** Check the checksum of every tensor that is read. Default true; the index's are always checked. */
  verifyTensors: optional(FLAG),
}

export interface OpenCheckpointOptions extends OptionsOf<typeof OPEN_OPTIONS> {}

/** Files of a V2 checkpoint: a person who names one means its prefix, not a V1 checkpoint. */
const PART_OF_V2 = /\.(?:index|data-\d{5}-of-\d{5})$/
/** The shards of a V1 checkpoint as TensorFlow names them together, `model-?????-of-00003`, or one of them. */
const SHARDS_OF_V1 = /-(?:\?{5}|\d{5})-of-(\d{5})$/

export function filesOfV1(prefix: string): readonly string[] {
  const count = PART_OF_V2.test(prefix) ? undefined : SHARDS_OF_V1.exec(prefix)?.[1]
  if (count === undefined) return [prefix]
  const shard = (_: unknown, k: number) => prefix.replace(SHARDS_OF_V1, `-${String(k).padStart(5, '0')}-of-${count}`)
  return Array.from({ length: Number(count) }, shard)
}

/**
 * Opens a checkpoint through any kind of files: V2 if `<prefix>.index` exists, else V1 if `<prefix>` does. Shards of V1 are
 * opened as one by the prefix `model-?????-of-00003`, or by the name of any of them.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_NOT_FOUND`, `ERR_CHECKPOINT_CORRUPT`, `ERR_CHECKPOINT_CHECKSUM`,
 *   `ERR_CHECKPOINT_UNSUPPORTED`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { mkdtemp, readFile } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { openCheckpointFrom, writeCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const prefix = join(await mkdtemp(join(tmpdir(), 'run-')), 'model-1')
 * await writeCheckpoint(prefix, [['bias', { data: Float32Array.of(1, 2), shape: [2] }]])
 *
 * // Called with the path of each file that is needed; undefined means that there is none. In a page: (path) => fetch(path).
 * const reader = await openCheckpointFrom(prefix, (path) => readFile(path).catch(() => undefined))
 * console.log(reader.names(), (await reader.read('bias')).data) // [ 'bias' ] Float32Array(2) [ 1, 2 ]
 * await reader.close()
 * ```
 */
export async function openCheckpointFrom(
  prefix: string,
  open: OpenByteSource,
  options: OpenCheckpointOptions = {},
): Promise<CheckpointReader> {
  checkArguments('open checkpoint', { prefix, open }, ARGUMENTS)
  const { verifyTensors = true } = checkOptions('open checkpoint', options, OPEN_OPTIONS)
  const openSource = async (path: string) => byteSourceOf('open checkpoint', path, await open(path))
  const index = await openSource(`${prefix}.index`)
  if (index !== undefined) return closing(index, () => BundleReader.open(prefix, index, openSource, verifyTensors))
  const tables: TableEntry[][] = []
  for (const path of PART_OF_V2.test(prefix) ? [] : filesOfV1(prefix)) {
    const file = await openSource(path)
    if (file === undefined) throw notFound(path)
    tables.push(await closing(file, () => readTable(file)))
  }
  if (tables.length === 0) throw notFound(prefix)
  return CheckpointV1Reader.of(prefix, tables)
}

function notFound(path: string): CheckpointError {
  return new CheckpointError(
    'ERR_CHECKPOINT_NOT_FOUND',
    'Cannot open checkpoint as there is none of this prefix (a path without .index; latestCheckpoint() finds the newest of a directory)',
    { path },
  )
}

async function closing<Result>(source: ByteSource, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } finally {
    await source.close()
  }
}
