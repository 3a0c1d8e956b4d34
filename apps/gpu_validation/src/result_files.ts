import { join } from 'node:path'
import type { Outcome } from './outcome.js'
import { linesOf } from './progress.js'
import type { Section } from './sections.js'

/** An outcome as stored on the disk; times carry the fields of their cell. */
export interface FiledOutcome extends Outcome {
  readonly section: string
  readonly [field: string]: unknown
}

/** The outcomes in FILE.jsonl of a folder of results. */
export function outcomesOf(folder: string, file: Section['file']): readonly FiledOutcome[] {
  return linesOf<FiledOutcome>(join(folder, `${file}.jsonl`))
}
