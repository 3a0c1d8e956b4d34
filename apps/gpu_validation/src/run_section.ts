import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { judged } from './outcome.js'
import type { RunOptions } from './run_options.js'
import { sections } from './sections.js'

/** Runs one section in this process; every outcome is appended to its file at once. */
export async function runSection({ folder, isQuick, python, section: name, seconds }: RunOptions): Promise<void> {
  const section = sections(python).find((candidate) => candidate.name === name)
  if (section === undefined) throw new Error(`There is no section "${name}"`)
  const file = join(folder, `${section.file}.jsonl`)
  const report = (outcome: object) => appendFileSync(file, `${JSON.stringify({ section: name, ...outcome })}\n`)
  // Room to finish what was begun before the process is ended.
  const deadline = performance.now() + Math.max(1, seconds - Math.min(5, seconds / 5)) * 1000
  try {
    await section.group({ options: {}, isQuick, report, deadline, argument: section.argument ?? '', folder })
  } catch (error) {
    report(judged(section.name, 'the section', 'ends', String(error instanceof Error ? error.stack : error), false))
  }
}
