import { existsSync } from 'node:fs'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { flushDirectory, isSystemError } from './bundle_writer.js'
import { type CheckpointState, formatCheckpointState, parseCheckpointState } from './checkpoint_state.js'
import { CheckpointError } from './errors.js'

const STATE_FILE = 'checkpoint'

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

/** Replaces the state of a directory: a reader sees the old one or the new one. Rejects with `ERR_CHECKPOINT_IO`. */
export async function writeCheckpointState(
  directory: string,
  state: CheckpointState,
  fileName = STATE_FILE,
): Promise<void> {
  const path = join(directory, fileName)
  const beside = `${path}.tmp${process.pid}`
  try {
    const file = await open(beside, 'w')
    await file
      .writeFile(formatCheckpointState(state))
      .then(() => file.sync())
      .finally(() => file.close())
    await rename(beside, path)
    await flushDirectory(directory)
  } catch (cause) {
    await rm(beside, { force: true }).catch(() => undefined)
    if (!isSystemError(cause)) throw cause
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot write checkpoint state (${cause.message})`, { path, cause })
  }
}

/**
 * The prefix of the newest checkpoint of a directory, or null where there is none: what the state file names, if its
 * files are there.
 *
 * @example
 * ```ts
 * import { latestCheckpoint } from '@cudnn-rnn/checkpoint'
 *
 * console.log(await latestCheckpoint('no/such/directory')) // null
 * ```
 */
export async function latestCheckpoint(directory: string, fileName = STATE_FILE): Promise<string | null> {
  const state = await readCheckpointState(directory, fileName)
  if (state === undefined) return null
  const prefix = resolvePath(directory, state.modelCheckpointPath)
  return existsSync(`${prefix}.index`) || existsSync(prefix) ? prefix : null
}

/** A path of a state file: relative ones are meant from the file's directory. */
export function resolvePath(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path)
}
