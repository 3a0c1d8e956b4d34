import type { CheckpointReader } from './checkpoint_reader.js'
import { openFileSource } from './file_source.js'
import { type OpenCheckpointOptions, openCheckpointFrom } from './open_checkpoint.js'

/**
 * Opens a checkpoint on disk, V2 or V1; reading it touches only the index until a tensor is read.
 *
 * @param prefix path without `.index`.
 * @throws as {@link openCheckpointFrom}, and `ERR_CHECKPOINT_IO`
 */
export function openCheckpoint(prefix: string, options: OpenCheckpointOptions = {}): Promise<CheckpointReader> {
  return openCheckpointFrom(prefix, openFileSource, options)
}
