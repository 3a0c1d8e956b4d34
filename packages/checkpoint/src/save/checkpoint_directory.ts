import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { checkArguments, FINITE, fields, listOf, optional, PATH, TEXT } from '@cudnn-rnn/canonical/rules'
import { flushDirectory, replaceFile } from '@cudnn-rnn/checkpoint/files'
import type { CheckpointState } from './checkpoint_state.js'
import { ioError } from '../errors.js'
import { type FileStore, isFileStore } from '../store/file_store.js'
import { filesOfV1 } from '../open_checkpoint.js'
import { withDirectoryLock } from './save_recovery.js'
import { readCheckpointState, STATE_FILE, writeStateBeside } from './state_file.js'
import { isSystemError, removeQuietly } from '../store/temporary_file.js'

const STATE = fields({
  modelCheckpointPath: TEXT,
  allModelCheckpointPaths: listOf(TEXT),
  allModelCheckpointTimestamps: listOf(FINITE),
  lastPreservedTimestamp: optional(FINITE),
})

/**
 * Replaces the state of a directory: a reader sees the old one or the new one. Waits for saves in this directory.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_IO`, `ERR_CHECKPOINT_LOCKED`
 * @example
 * ```ts
 * import { mkdir } from 'node:fs/promises'
 * import { readCheckpointState, writeCheckpointState } from '@cudnn-rnn/rnn/checkpoint'
 *
 * await mkdir('run')
 * await writeCheckpointState('run', {
 *   modelCheckpointPath: 'model-300',
 *   allModelCheckpointPaths: ['model-200', 'model-300'],
 *   allModelCheckpointTimestamps: [],
 *   lastPreservedTimestamp: undefined,
 * })
 * console.log((await readCheckpointState('run'))?.modelCheckpointPath) // model-300
 * ```
 */
export async function writeCheckpointState(
  directory: string,
  state: CheckpointState,
  fileName = STATE_FILE,
): Promise<void> {
  checkArguments(
    'write checkpoint state',
    { directory, state, fileName },
    { directory: PATH, state: STATE, fileName: PATH },
  )
  const path = join(directory, fileName)
  try {
    await withDirectoryLock(directory, async () => {
      const beside = await writeStateBeside(directory, state, fileName)
      try {
        await replaceFile(beside, path)
      } catch (error) {
        await removeQuietly(beside)
        throw error
      }
      await flushDirectory(directory)
    })
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    throw ioError('write checkpoint state', path, cause)
  }
}

/**
 * The prefix of the newest checkpoint of a directory, or null: the prefix in the state file, if its
 * files are there.
 *
 * @example
 * ```ts
 * import { latestCheckpoint } from '@cudnn-rnn/rnn'
 *
 * console.log(await latestCheckpoint('no/such/directory')) // null
 * ```
 */
export async function latestCheckpoint(directory: string | FileStore, fileName = STATE_FILE): Promise<string | null> {
  let state = await readCheckpointState(directory, fileName)
  while (state !== undefined) {
    const prefix = await foundPrefix(directory, state.modelCheckpointPath)
    if (prefix !== undefined) return prefix
    // A saver may have replaced the state and removed this checkpoint since the state was read.
    const now = await readCheckpointState(directory, fileName)
    if (now?.modelCheckpointPath === state.modelCheckpointPath) return null
    state = now
  }
  return null
}

/** The prefix of a checkpoint of a state file; undefined if its files are not there. */
async function foundPrefix(directory: string | FileStore, path: string): Promise<string | undefined> {
  if (isFileStore(directory)) return (await directory.names()).includes(`${path}.index`) ? path : undefined
  const prefix = resolvePath(directory, path)
  return existsSync(`${prefix}.index`) || filesOfV1(prefix).every((file) => existsSync(file)) ? prefix : undefined
}

/**
 * A path of a state file: relative ones are meant from the file's directory.
 *
 * @example
 * ```ts
 * import { resolvePath } from '@cudnn-rnn/rnn/checkpoint'
 *
 * console.log(resolvePath('run', 'model-300'), resolvePath('run', '/other/model-300'))
 * // run/model-300 /other/model-300
 * ```
 */
export function resolvePath(directory: string, path: string): string {
  checkArguments('resolve a path', { directory, path }, { directory: TEXT, path: TEXT })
  return isAbsolute(path) ? path : join(directory, path)
}
