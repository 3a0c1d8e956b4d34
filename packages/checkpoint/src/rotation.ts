import type { CheckpointState } from './checkpoint_state.js'

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
): { readonly state: CheckpointState; readonly evicted: readonly SavedCheckpoint[] } {
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
  const state = {
    modelCheckpointPath: entry.path,
    allModelCheckpointPaths: history.map(({ path }) => path),
    allModelCheckpointTimestamps: history.map(({ time }) => time),
    lastPreservedTimestamp: preserved,
  }
  return { state, evicted }
}
