import { join } from 'node:path'
import { codedRangeError, hasErrorCode, jsonObject } from '@cudnn-rnn/canonical/rules'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'

/**
 * Records that a checkpoint holds beside its model. `file` is its place in a run of the command line: in a separate folder,
 * as the state file of the run lists the checkpoints of the training alone.
 */
const TASKS = {
  text_classifier: { file: 'classifier/model', words: 'a text classifier', code: 'ERR_NOT_A_CLASSIFIER' },
  forecaster: { file: 'forecaster/model', words: 'a forecaster', code: 'ERR_NOT_A_FORECASTER' },
} as const

export type TaskName = keyof typeof TASKS

/** A JSON value as a tensor of its bytes in UTF-8, to be saved under the name of the task. */
export function taskNote(task: TaskName, record: object) {
  const data = new TextEncoder().encode(JSON.stringify(record))
  return { [task]: { data, shape: [data.length] } }
}

/**
 * The record of a task and the prefix of its checkpoint.
 *
 * @param path a prefix, or the directory of a run.
 * @throws RangeError with the code of the task, if the path holds no such task; CheckpointError
 */
export async function readTask(
  task: TaskName,
  path: string,
): Promise<{ readonly prefix: string; readonly record: Readonly<Record<string, unknown>> }> {
  for (const prefix of [path, join(path, TASKS[task].file)]) {
    const record = await recordAt(task, prefix)
    if (record !== undefined) return { prefix, record }
  }
  const others = Object.entries(TASKS).filter(([name]) => name !== task)
  for (const [, { file, words }] of others) {
    if (await isThere(join(path, file))) throw notATask(task, path, `it holds ${words}`)
  }
  throw notATask(task, path, 'no checkpoint of one is there. A run of the command line has one when it has ended')
}

export function notATask(task: TaskName, path: string, reason: string): RangeError {
  const { words, code } = TASKS[task]
  return codedRangeError(code, `Cannot load ${words} as ${path} must hold one: ${reason}`, { path })
}

/** Undefined if there is no checkpoint. */
async function recordAt(task: TaskName, prefix: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!(await isThere(prefix))) return undefined
  await using reader = await openCheckpoint(prefix)
  if (!reader.has(task)) throw notATask(task, prefix, `the checkpoint has no ${task}`)
  const { data } = await reader.read(task)
  const record = jsonObject(data as Uint8Array)
  if (record === undefined) throw notATask(task, prefix, `its ${task} must be a JSON object in UTF-8`)
  return record
}

async function isThere(prefix: string): Promise<boolean> {
  try {
    await (await openCheckpoint(prefix)).close()
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ERR_CHECKPOINT_NOT_FOUND')) return false
    throw error
  }
}
