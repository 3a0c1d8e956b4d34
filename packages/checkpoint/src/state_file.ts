import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckpointState, formatCheckpointState, parseCheckpointState } from './checkpoint_state.js'
import { CheckpointError } from './errors.js'
import { createFile, isSystemError, removeQuietly, temporaryPath, writeAll } from './temporary_file.js'

export const STATE_FILE = 'checkpoint'

/** The state of a directory of checkpoints, or undefined where it has none. Rejects with `ERR_CHECKPOINT_CORRUPT`, `ERR_CHECKPOINT_IO`. */
export async function readCheckpointState(
  directory: string,
  fileName = STATE_FILE,
): Promise<CheckpointState | undefined> {
  const path = join(directory, fileName)
  try {
    return parseCheckpointState(await readFile(path, 'utf8'), path)
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return undefined
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot read checkpoint state (${cause.message})`, { path, cause })
  }
}

/** Writes a state beside the present one and returns its path: a rename makes it the present one. */
export async function writeStateBeside(
  directory: string,
  state: CheckpointState,
  fileName = STATE_FILE,
): Promise<string> {
  const beside = temporaryPath(join(directory, fileName))
  try {
    await createFile(beside, (file) => writeAll(file, new TextEncoder().encode(formatCheckpointState(state))))
    return beside
  } catch (error) {
    await removeQuietly(beside)
    throw error
  }
}
