import { checkOptions, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { CheckpointReader } from './bundle/checkpoint_reader.js'
import { openFileSource } from './store/file_source.js'
import { FILE_STORE, type FileStore } from './store/file_store.js'
import { OPEN_OPTIONS, type OpenByteSource, type OpenCheckpointOptions, openCheckpointFrom } from './open_checkpoint.js'

const OPTIONS = {
  ...OPEN_OPTIONS,
  /** A folder outside the system's files, such as one of a browser; `prefix` is then a name in it. */
  store: optional<FileStore>(FILE_STORE),
}

interface OpenCheckpointFileOptions extends OpenCheckpointOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Opens a checkpoint on disk, V2 or V1, or of a store; reading it touches only the index until a tensor is read.
 *
 * @param prefix path without `.index`.
 * @throws as {@link openCheckpointFrom}, and `ERR_CHECKPOINT_IO`
 * @example
 * ```ts
 * import { openCheckpoint, writeCheckpoint } from '@cudnn-rnn/rnn'
 *
 * await writeCheckpoint('run/model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]])
 * const reader = await openCheckpoint('run/model')
 * console.log(reader.names(), reader.shape('bias'), reader.dtype('bias')) // ['bias'] [2] float32
 * console.log((await reader.read('bias')).data) // [1, 2]
 * await reader.close()
 * ```
 */
export async function openCheckpoint(
  prefix: string,
  options: OpenCheckpointFileOptions = {},
): Promise<CheckpointReader> {
  const { store, ...others } = checkOptions('open checkpoint', options, OPTIONS)
  const open: OpenByteSource = store === undefined ? openFileSource : (name) => store.open(name)
  return openCheckpointFrom(prefix, open, others)
}
