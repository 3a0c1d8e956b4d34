import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { checkArguments, hasErrorCode, jsonObject, PATH } from '@cudnn-rnn/canonical/rules'
import { flushDirectory } from '@cudnn-rnn/checkpoint/files'
import { type FileLock, removeAbandonedTakeovers, withFileLock } from '../store/file_lock.js'
import { isSystemError, namesIn, removeAbandonedFiles } from '../store/temporary_file.js'
import { removeCheckpoint, removeUnusedData } from './checkpoint_files.js'
import { readCheckpointState, STATE_FILE } from './state_file.js'

/**
 * The planned changes of a save, written into the lock before the first change, like SQLite's rollback journal. When the
 * process ends before the save does, the next holder of the lock undoes or completes the save.
 */
export interface SavePlan {
  /** Base name of the checkpoint. */
  readonly saving: string
  /** There was a checkpoint of this prefix before: it must not be removed. */
  readonly existed: boolean
  /** The state file will list it: as long as it does not, the save has not happened. */
  readonly listed: boolean
  /** Base names of checkpoints that the state file will no longer list. */
  readonly evicting: readonly string[]
}

/**
 * Runs `work` while no other thread, process or host changes the checkpoints of a directory; before it, removes files of
 * killed saves.
 */
export function withDirectoryLock<Result>(
  directory: string,
  work: (lock: FileLock) => Promise<Result>,
): Promise<Result> {
  const name = `${STATE_FILE}.lock`
  const path = join(resolve(directory), name)
  return withFileLock(
    path,
    (notes) => recoverSave(directory, notes),
    async (lock) => {
      const names = await namesIn(directory)
      await removeAbandonedFiles(directory, names)
      await removeAbandonedTakeovers(path, names, name)
      return work(lock)
    },
  )
}

/**
 * Undoes or completes a save that was killed in a directory, as the next save would. Does nothing if there is none.
 *
 * @returns false if the directory may not be changed, or one process keeps it locked for minutes.
 * @example
 * ```ts
 * import { recoverSaves, writeCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * await writeCheckpoint('run/model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]])
 * console.log(await recoverSaves('run')) // true
 * ```
 */
export async function recoverSaves(directory: string): Promise<boolean> {
  checkArguments('recover saves', { directory }, { directory: PATH })
  if (!existsSync(join(directory, `${STATE_FILE}.lock`))) return true
  try {
    await withDirectoryLock(directory, async () => undefined)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ERR_CHECKPOINT_IO', 'ERR_CHECKPOINT_LOCKED') || isSystemError(error)) return false
    throw error
  }
}

async function recoverSave(directory: string, notes: string): Promise<void> {
  const plan = parsePlan(notes)
  if (plan === undefined) return
  const listed = await listedNames(directory)
  // A damaged state file implies nothing: complete checkpoints are kept.
  if (listed === undefined) return
  const prefix = join(directory, plan.saving)
  if (plan.listed && !plan.existed && !listed.has(plan.saving)) await removeCheckpoint(directory, prefix)
  else await removeUnusedData(prefix)
  for (const name of plan.evicting) {
    if (!listed.has(name) && name !== plan.saving) await removeCheckpoint(directory, join(directory, name))
  }
  await flushDirectory(directory)
}

/** Undefined for an invalid plan: any user with write access to the directory can write a lock. */
function parsePlan(notes: string): SavePlan | undefined {
  const { saving, existed, listed, evicting } = jsonObject(notes) ?? {}
  if (!isName(saving) || typeof existed !== 'boolean' || typeof listed !== 'boolean') return undefined
  if (!Array.isArray(evicting) || !evicting.every(isName)) return undefined
  return { saving, existed, listed, evicting }
}

/** A name that a file in this directory can have: no path, and neither the directory itself nor its parent. */
function isName(value: unknown): value is string {
  if (typeof value !== 'string' || ['', '.', '..'].includes(value)) return false
  return value === basename(value) && !value.includes('\0')
}

async function listedNames(directory: string): Promise<ReadonlySet<string> | undefined> {
  try {
    const paths = (await readCheckpointState(directory))?.allModelCheckpointPaths ?? []
    const inside = paths.filter((path) => resolve(directory, dirname(path)) === resolve(directory))
    return new Set(inside.map((path) => basename(path)))
  } catch (error) {
    if (hasErrorCode(error, 'ERR_CHECKPOINT_CORRUPT')) return undefined
    throw error
  }
}
