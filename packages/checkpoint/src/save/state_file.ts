import { join } from 'node:path'
import { checkArguments, PATH } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '../store/byte_source.js'
import { type CheckpointState, formatCheckpointState, parseCheckpointState } from './checkpoint_state.js'
import { corrupt, ioError } from '../errors.js'
import { openFileSource } from '../store/file_source.js'
import { type FileStore, isFileStore } from '../store/file_store.js'
import { createFile, isSystemError, temporaryPath, writeAll } from '../store/temporary_file.js'

export const STATE_FILE = 'checkpoint'

/** A line for each of some thousand checkpoints. */
const LARGEST_STATE = 2 ** 24

/**
 * The state of a directory of checkpoints, or undefined if it has none. Rejects with `ERR_CHECKPOINT_CORRUPT`, `ERR_CHECKPOINT_IO`.
 *
 * @example
 * ```ts
 * import { readCheckpointState, writeCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * console.log(await readCheckpointState('.')) // undefined
 * const retention = { maxToKeep: 5, keepCheckpointEveryNHours: 10_000 }
 * await writeCheckpoint('run/model-100', [['bias', { data: Float32Array.of(1), shape: [1] }]], { retention })
 * console.log((await readCheckpointState('run'))?.allModelCheckpointPaths) // ['model-100']
 * ```
 */
export async function readCheckpointState(
  directory: string | FileStore,
  fileName = STATE_FILE,
): Promise<CheckpointState | undefined> {
  if (isFileStore(directory)) {
    const source = await directory.open(fileName)
    return source && readState(source, fileName)
  }
  checkArguments('read checkpoint state', { directory, fileName }, { directory: PATH, fileName: PATH })
  const path = join(directory, fileName)
  try {
    const source = await openFileSource(path)
    if (source === undefined) return undefined
    return await readState(source, path)
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    throw ioError('read checkpoint state', path, cause)
  }
}

/** The state in a file, which is closed. */
async function readState(source: ByteSource, path: string): Promise<CheckpointState> {
  try {
    return parseCheckpointState(await stateText(source), path)
  } finally {
    await source.close()
  }
}

async function stateText(source: ByteSource): Promise<string> {
  if (source.size <= LARGEST_STATE) return new TextDecoder().decode(await source.read(0, source.size))
  const rule = `it must have at most ${LARGEST_STATE} bytes: current size is ${source.size}`
  throw corrupt('checkpoint state', rule, { path: source.name })
}

/** Writes a state beside the present one and returns its path: a rename makes it the present one. */
export async function writeStateBeside(
  directory: string,
  state: CheckpointState,
  fileName = STATE_FILE,
): Promise<string> {
  const beside = temporaryPath(join(directory, fileName))
  await createFile(beside, (file) => writeAll(file, new TextEncoder().encode(formatCheckpointState(state))))
  return beside
}
