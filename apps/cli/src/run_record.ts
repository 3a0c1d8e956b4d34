import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CharModelSizes } from './char_language_model.js'
import { codedRangeError } from './coded_error.js'
import type { StepRecord, TrainingPlan } from './trainer.js'

/** What a run directory's `run.json` holds: everything about a run but its tensors. */
export interface RunRecord {
  readonly format: 'cudnn-rnn character model 1'
  readonly corpus: string
  /** Path of the text file; undefined for the book that comes with the installation. */
  readonly textFile: string | undefined
  readonly characters: readonly string[]
  readonly sizes: CharModelSizes
  readonly plan: TrainingPlan
  readonly bigramBits: number
  readonly backend: string
  /** One record for every update done. */
  readonly history: readonly StepRecord[]
  /** The dropout generator's state, base64. */
  readonly dropoutState: string
  /** Rows of the carried state; absent when it is zero. */
  readonly carriesState: boolean
}

const FILE_NAME = 'run.json'

/** Writes `run.json` beside and renames it: a reader never sees half of it. */
export async function writeRunRecord(directory: string, record: RunRecord): Promise<void> {
  await mkdir(directory, { recursive: true })
  const path = join(directory, FILE_NAME)
  await writeFile(`${path}.tmp`, `${JSON.stringify(record)}\n`)
  await rename(`${path}.tmp`, path)
}

/** Throws RangeError `ERR_RUN_EXISTS` when the directory holds a run, which a new one would overwrite. */
export function checkNoRun(directory: string): void {
  if (!existsSync(join(directory, FILE_NAME))) return
  throw codedRangeError(
    'ERR_RUN_EXISTS',
    `Cannot train as ${directory} holds a run already: go on with it by --resume, replace it by --overwrite, or name another directory by --out`,
    { directory },
  )
}

/** Throws RangeError `ERR_NO_RUN` when the directory holds no run of this program. */
export async function readRunRecord(directory: string): Promise<RunRecord> {
  try {
    const record = JSON.parse(await readFile(join(directory, FILE_NAME), 'utf8')) as RunRecord
    if (record.format === 'cudnn-rnn character model 1') return record
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!missing && !(error instanceof SyntaxError)) throw error
  }
  throw codedRangeError(
    'ERR_NO_RUN',
    `Cannot load a run as ${join(directory, FILE_NAME)} must be the record of one: make one with "cudnn-rnn train --out ${directory}"`,
    { directory },
  )
}
