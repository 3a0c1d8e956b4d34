import { dirname } from 'node:path'
import {
  ASYNC_ITERABLE,
  checkArguments,
  checkOptions,
  either,
  FILE_PATH,
  ITERABLE,
  integerFrom,
  type OptionsOf,
  optional,
  optionFields,
  POSITIVE,
} from '@cudnn-rnn/canonical/rules'
import { makeDirectory } from '@cudnn-rnn/checkpoint/files'
import { BundleEncoder, type NamedTensor } from '../bundle/bundle_encoder.js'
import { CheckpointError, ioError } from '../errors.js'
import { FILE_STORE, type FileStore } from '../store/file_store.js'
import { createFile, isSystemError, removeQuietly, temporaryPath, writeAll } from '../store/temporary_file.js'
import type { Retention } from './rotation.js'
import { commitSave } from './save_commit.js'
import { saveInStore } from './store_commit.js'

const ARGUMENTS = {
  prefix: FILE_PATH,
  tensors: either(ITERABLE, ASYNC_ITERABLE),
}
const OPTIONS = {
  /** Notes the checkpoint in the directory's state file as the newest, and deletes older ones. Default: neither. */
  retention: optional<Retention>(optionFields({ maxToKeep: integerFrom(0), keepCheckpointEveryNHours: POSITIVE })),
  /** A folder outside the system's files, such as one of a browser; `prefix` is then a name in it. */
  store: optional<FileStore>(FILE_STORE),
}

interface WriteCheckpointOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Writes a TensorFlow V2 checkpoint with one data file: complete, or not at all.
 *
 * Tensors are taken one by one and written in that order, in ascending order of names if the caller gives them so, as
 * TensorFlow does; the index is sorted in any case. Any number of threads and processes may write into one directory at
 * once. Over a checkpoint of the same prefix, the old one is whole until one rename makes it the new one. When writing
 * fails, everything is as it was before.
 *
 * @param prefix path without the endings `.index` and `.data-…`; its directory is made when it is missing.
 * @throws CheckpointError `ERR_TENSOR_INVALID` (a name twice, or data that does not fit), `ERR_CHECKPOINT_IO`,
 *   `ERR_CHECKPOINT_LOCKED` if another process keeps the directory locked for minutes
 * @example
 * ```ts
 * import { latestCheckpoint, writeCheckpoint } from '@cudnn-rnn/rnn'
 *
 * const tensors = [
 *   ['dense/bias', { data: Float32Array.of(1, 2), shape: [2] }],
 *   ['global_step', { data: BigInt64Array.of(100n), shape: [] }],
 * ] as const
 * await writeCheckpoint('run/model-100', tensors, { retention: { maxToKeep: 5, keepCheckpointEveryNHours: 10_000 } })
 * console.log(await latestCheckpoint('run')) // run/model-100
 * ```
 */
export async function writeCheckpoint(
  prefix: string,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
  options: WriteCheckpointOptions = {},
): Promise<void> {
  checkArguments('write checkpoint', { prefix, tensors }, ARGUMENTS)
  const { retention, store } = checkOptions('write checkpoint', options, OPTIONS)
  if (store !== undefined) return saveInStore(store, prefix, tensors, retention)
  const data = temporaryPath(`${prefix}.data`)
  try {
    await makeDirectory(dirname(prefix))
    const encoder = new BundleEncoder()
    await createFile(data, async (file) => {
      for await (const bytes of encoder.data(tensors)) await writeAll(file, bytes)
    })
    await commitSave(prefix, data, encoder.entries(), retention)
  } catch (cause) {
    await removeQuietly(data)
    if (cause instanceof CheckpointError || !isSystemError(cause)) throw cause
    throw ioError('write checkpoint', prefix, cause)
  }
}
