import { join } from 'node:path'
import { jsonObject } from '@cudnn-rnn/canonical/rules'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'

/** Tasks in words, by the format that the record of a run names without its version. */
const TASKS = {
  'cudnn-rnn character model': 'a character model run',
  'cudnn-rnn classification': 'a classification run',
  'cudnn-rnn forecast': 'a forecast run',
} as const

export type RunTask = (typeof TASKS)[keyof typeof TASKS]

/** `a forecast run` for `cudnn-rnn forecast 1`; undefined for a format of no task. */
export function taskOf(format: unknown): RunTask | undefined {
  if (typeof format !== 'string') return undefined
  const name = format.replace(/ \d+$/, '')
  return Object.hasOwn(TASKS, name) ? TASKS[name as keyof typeof TASKS] : undefined
}

/** The task of a run directory; undefined for other paths. */
export async function runTask(path: string): Promise<RunTask | undefined> {
  const record = await readRegularFile(join(path, 'run.json')).catch(() => '')
  return taskOf(jsonObject(record)?.['format'])
}
