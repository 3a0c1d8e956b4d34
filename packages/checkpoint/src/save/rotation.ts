import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import type { FileStore } from '../store/file_store.js'
import type { CheckpointState } from './checkpoint_state.js'
import { readCheckpointState } from './state_file.js'

/** Which checkpoints of a directory stay. */
export interface Retention {
  /** Checkpoints to keep; older ones are deleted. 0 keeps all and lists only the newest, as in TensorFlow. */
  readonly maxToKeep: number
  /** Keeps one checkpoint for every so many hours for good. */
  readonly keepCheckpointEveryNHours: number
}

/** A checkpoint in the history of a directory: its path as the state file has it, and when it was saved, in seconds. */
export interface SavedCheckpoint {
  readonly path: string
  readonly time: number
}

/**
 * The state of a directory after a checkpoint was saved, and the checkpoints that it no longer lists and that must go.
 *
 * @param saved its path as the state file is to have it.
 * @param isSaved whether a path of the state file names it.
 */
export function rotate(
  before: CheckpointState | undefined,
  saved: string,
  isSaved: (path: string) => boolean,
  { maxToKeep, keepCheckpointEveryNHours }: Retention,
) {
  const now = Date.now() / 1000
  const entry = { path: saved, time: now }
  let history: SavedCheckpoint[] = (before?.allModelCheckpointPaths ?? [])
    .map((path, index) => ({ path, time: before?.allModelCheckpointTimestamps[index] ?? now }))
    .filter(({ path }) => !isSaved(path))
  history = maxToKeep === 0 ? [entry] : [...history, entry]

  let preserved = before?.lastPreservedTimestamp ?? history[0]?.time ?? now
  const evicted: SavedCheckpoint[] = []
  const excess = maxToKeep > 0 ? Math.max(0, history.length - maxToKeep) : 0
  for (const oldest of history.splice(0, excess)) {
    if (oldest.time - preserved > keepCheckpointEveryNHours * 3600) preserved = oldest.time
    else evicted.push(oldest)
  }
  return { state: stateOf(history, preserved), history, evicted }
}

/** The state that lists checkpoints, oldest first: at least one. */
export function stateOf(history: readonly SavedCheckpoint[], lastPreservedTimestamp?: number): CheckpointState {
  const paths = history.map(({ path }) => path)
  return {
    modelCheckpointPath: paths.at(-1) ?? '',
    allModelCheckpointPaths: paths,
    allModelCheckpointTimestamps: history.map(({ time }) => time),
    lastPreservedTimestamp,
  }
}

/**
 * The state of a directory or store. A damaged state file must not end a training: then the checkpoints of this name with
 * any step that are there are its history, by their times and steps.
 *
 * @param base the name of a checkpoint.
 * @param timeOf when a file was saved, in seconds.
 */
export async function presentState(
  place: string | FileStore,
  base: string,
  names: readonly string[],
  timeOf: (name: string) => Promise<number>,
): Promise<CheckpointState | undefined> {
  try {
    return await readCheckpointState(place)
  } catch (error) {
    if (!hasErrorCode(error, 'ERR_CHECKPOINT_CORRUPT')) throw error
  }
  const stem = `${base.replace(/-\d+$/, '')}-`
  const steps = names.flatMap((name) =>
    name.startsWith(stem) ? (/^(\d+)\.index$/.exec(name.slice(stem.length))?.[1] ?? []) : [],
  )
  const found: SavedCheckpoint[] = []
  for (const step of steps.sort((a, b) => Number(a) - Number(b)))
    found.push({ path: stem + step, time: await timeOf(`${stem}${step}.index`) })
  return found.length === 0 ? undefined : stateOf(found.sort((a, b) => a.time - b.time))
}
