import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonObject } from '@cudnn-rnn/canonical/rules'
import { readRegularFile, writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { codedRangeError } from './coded_error.js'
import { makeOutputDirectory } from './output_directory.js'
import { taskOf } from './run_kind.js'

/** Options of a run: `run.json` beside its checkpoints, so that a resumed run continues with the same values. */
export interface RunSettings {
  /** Names the task and its version. */
  readonly format: string
}

const FILE_NAME = 'run.json'

/** Files of a run in its directory; others are not touched. */
const OF_A_RUN =
  /^(?:best|checkpoint|classifier|events|forecaster|metrics\.jsonl|model-\d+\..*|(?:checkpoint|run\.json|report\.html|forecast\.csv)\..*\.tmp|run\.json)$/

/** Starts a run: removes the files of another run from `directory` and writes the settings. The caller holds the lock. */
export async function beginRun(directory: string, settings: RunSettings): Promise<void> {
  await makeOutputDirectory(directory)
  for (const entry of await readdir(directory)) {
    if (OF_A_RUN.test(entry)) await rm(join(directory, entry), { recursive: true })
  }
  await writeRunSettings(directory, settings)
}

/** Replaces the settings of a resumed run. The caller holds the lock. */
export async function writeRunSettings(directory: string, settings: RunSettings): Promise<void> {
  await writeFileAtomic(join(directory, FILE_NAME), `${JSON.stringify(settings, null, 2)}\n`)
}

/** Whether a command continues the run of a directory. With `auto` it does so if the directory contains a run of any task. */
export function isResume(directory: string, resume: boolean | 'auto' | undefined): boolean {
  return resume === 'auto' ? holdsRun(directory) : resume === true
}

/** Throws RangeError `ERR_RUN_EXISTS` when the directory holds a run, which a new one would overwrite. */
export function checkNoRun(directory: string): void {
  if (!holdsRun(directory)) return
  throw codedRangeError(
    'ERR_RUN_EXISTS',
    `Cannot train as ${directory} holds a run already: go on with it by --resume, replace it by --overwrite, or name another directory by --out`,
    { directory },
  )
}

/** Throws RangeError `ERR_NO_RUN` when the directory holds no run of that task. */
export async function readRunSettings<Settings extends RunSettings>(
  directory: string,
  format: Settings['format'],
): Promise<Settings> {
  const settings = await savedSettings(directory)
  if (settings?.['format'] === format) return settings as unknown as Settings
  const found = typeof settings?.['format'] === 'string' ? settings['format'] : ''
  const kind = taskOf(found)
  const wanted = taskOf(format)
  const other =
    kind === wanted
      ? `another version began this one (${found}), and only that one can go on with it. Train again, into another directory`
      : kind && `this is ${kind}`
  throw codedRangeError(
    'ERR_NO_RUN',
    `Cannot open a run as ${join(directory, FILE_NAME)} must be the record of ${wanted ?? 'one'} (${format}): ${other ?? 'name the directory that was trained in'}`,
    { directory, format: found },
  )
}

/** The settings in a directory, of any task and version; undefined if there are none. Throws RangeError `ERR_NO_RUN` for others. */
async function savedSettings(directory: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const path = join(directory, FILE_NAME)
  try {
    return jsonObject(await readRegularFile(path))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw codedRangeError('ERR_NO_RUN', `Cannot open a run as ${path} must be readable: ${message}`, {
      directory,
      cause,
    })
  }
}

function holdsRun(directory: string): boolean {
  return existsSync(join(directory, FILE_NAME))
}
