import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from './outcome.js'
import type { Section } from './sections.js'

/** An outcome as it lies on the disk; times carry the fields of their cell. */
export interface FiledOutcome extends Outcome {
  readonly section: string
  readonly [field: string]: unknown
}

/** The outcomes in FILE.jsonl of a folder of results; a line cut short by a crash is left out. */
export function outcomesOf(folder: string, file: Section['file']): readonly FiledOutcome[] {
  let text = ''
  try {
    text = readFileSync(join(folder, `${file}.jsonl`), 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as FiledOutcome]
    } catch {
      return []
    }
  })
}
