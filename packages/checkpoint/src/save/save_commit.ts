import { lstat, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { flushDirectory, readRegularFile, replaceFile } from '@cudnn-rnn/checkpoint/files'
import { encodeBundleHeader } from '../bundle/bundle_messages.js'
import { shardPath } from '../bundle/bundle_reader.js'
import { checkpointFiles, removeCheckpoint, removeUnusedData } from './checkpoint_files.js'
import { presentState, type Retention, rotate, type SavedCheckpoint, stateOf } from './rotation.js'
import { type SavePlan, withDirectoryLock } from './save_recovery.js'
import { STATE_FILE, writeStateBeside } from './state_file.js'
import type { TableEntry } from '../table/table_reader.js'
import { encodeTable } from '../table/table_writer.js'
import { createFile, namesIn, removeQuietly, temporaryPath, writeAll } from '../store/temporary_file.js'

/**
 * Makes a data file that was written beside, and the table of its tensors, the checkpoint of a prefix.
 *
 * One rename is the commit: the index's. The data file is renamed before it to a name that the present index does
 * not use. Readers take the names of data files from the number of shards in the index, so `data-00000-of-00001` and
 * `data-00000-of-00002` serve in turn. Until the commit the old checkpoint is whole, from the commit on the new one.
 * Then the state file is replaced, and only then is anything removed: the old data, and checkpoints beyond maxToKeep.
 *
 * A failure before the state file is replaced is rolled back. A process that ends in between leaves its plan in the lock.
 *
 * @param entries of the index without its header, ascending by key.
 * @param retention the checkpoints to keep; undefined leaves the state file alone.
 */
export function commitSave(
  prefix: string,
  dataBeside: string,
  entries: readonly TableEntry[],
  retention: Retention | undefined,
): Promise<void> {
  const directory = dirname(prefix)
  return withDirectoryLock(directory, async (lock) => {
    const index = `${prefix}.index`
    const names = await namesIn(directory)
    const existed = names.includes(basename(index))
    const numShards = existed ? freeNumShards(names, basename(prefix)) : 1
    const data = shardPath(prefix, 0, numShards)
    const rotation = retention && (await rotated(directory, prefix, names, retention))
    const plan: SavePlan = {
      saving: basename(prefix),
      existed,
      listed: rotation !== undefined,
      evicting: namesInside(directory, rotation?.evicted ?? []),
    }

    const temporaries: string[] = []
    const writeBeside = async (path: string, bytes: Uint8Array) => {
      const temporary = temporaryPath(path)
      temporaries.push(temporary)
      await createFile(temporary, (file) => writeAll(file, bytes))
      return temporary
    }
    const undo: (() => Promise<void>)[] = []
    try {
      const header = { key: new Uint8Array(0), value: encodeBundleHeader(numShards) }
      const newIndex = await writeBeside(index, encodeTable([header, ...entries]))
      const oldIndex = existed ? await writeBeside(index, await readRegularFile(index)) : undefined
      const state = rotation && (await writeStateBeside(directory, rotation.state))
      if (state !== undefined) temporaries.push(state)
      await lock.note(JSON.stringify(plan))
      await lock.check()
      // Each step needs the names of the ones before, on disks that order none: the plan, the data, the index, the state.
      await flushDirectory(directory)
      await replaceFile(dataBeside, data)
      undo.unshift(() => rm(data, { force: true }))
      if (existed) await flushDirectory(directory)
      await replaceFile(newIndex, index)
      undo.unshift(() => (oldIndex === undefined ? rm(index, { force: true }) : replaceFile(oldIndex, index)))
      await flushDirectory(directory)
      if (state !== undefined) await replaceFile(state, join(directory, STATE_FILE))
    } catch (error) {
      // A failed rollback leaves files that the next save removes.
      await undo.reduce((before, step) => before.then(step), Promise.resolve()).catch(() => undefined)
      await Promise.all(temporaries.map(removeQuietly))
      throw error
    }
    // The save is complete. A later save removes the files that cannot be removed now.
    await Promise.all(temporaries.map(removeQuietly))
    await flushDirectory(directory).catch(() => undefined)
    if (checkpointFiles(names, basename(prefix)).some((file) => file.numShards !== undefined)) {
      await removeUnusedData(prefix).catch(() => undefined)
    }
    if (rotation !== undefined) await evict(directory, rotation)
    // Else the lock with its plan could be gone, and a file that it names could be back.
    await flushDirectory(directory).catch(() => undefined)
  })
}

async function rotated(directory: string, prefix: string, names: readonly string[], retention: Retention) {
  const saved = isAbsolute(prefix) ? resolve(prefix) : basename(prefix)
  const isSaved = (path: string) => resolve(directory, path) === resolve(prefix)
  const timeOf = async (name: string) => (await lstat(join(directory, name))).mtimeMs / 1000
  return rotate(await presentState(directory, basename(prefix), names, timeOf), saved, isSaved, retention)
}

/** The least number of shards of which no data file of this checkpoint is there. */
export function freeNumShards(names: readonly string[], base: string): number {
  const taken = new Set(checkpointFiles(names, base).map(({ numShards }) => numShards))
  let free = 1
  while (taken.has(free)) free++
  return free
}

/** Deletes evicted checkpoints. The state file lists those that cannot be deleted again; the next save retries. */
async function evict(directory: string, { state, history, evicted }: ReturnType<typeof rotate>): Promise<void> {
  const left: SavedCheckpoint[] = []
  for (const checkpoint of evicted) {
    await removeCheckpoint(directory, resolve(directory, checkpoint.path)).catch(() => left.push(checkpoint))
  }
  if (left.length === 0) return
  const listed = stateOf([...left, ...history], state.lastPreservedTimestamp)
  try {
    await replaceFile(await writeStateBeside(directory, listed), join(directory, STATE_FILE))
  } catch {
    // The system refused two things in one save; the files stay.
  }
}

function namesInside(directory: string, checkpoints: readonly SavedCheckpoint[]): string[] {
  const paths = checkpoints.map(({ path }) => resolve(directory, path))
  return paths.filter((path) => dirname(path) === resolve(directory)).map((path) => basename(path))
}
