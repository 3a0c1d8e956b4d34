import { join } from 'node:path'
import { device, judged, nameOf, type Outcome } from './outcome.js'
import { appendLine, Progress } from './progress.js'
import { outcomesOf } from './result_files.js'
import type { RunOptions } from './run_options.js'
import { sections } from './sections.js'

/** The status of a section's process that lost its device: another process may go on behind the item that lost it. */
const DEVICE_LOST = 3

/** A process whose run was killed writes nothing more: the run that continues it repeats the same checks. */
const parent = process.ppid
function endWithParent(): void {
  if (process.ppid !== parent) process.exit()
}

const keyOf = ({ id, what }: Pick<Outcome, 'id' | 'what'>) => `${id} ${what}`

/**
 * Runs one section in this process; every outcome is appended to its file immediately, unless an earlier process of the
 * section has answered it.
 */
export async function runSection({ folder, isQuick, python, section: name, seconds }: RunOptions): Promise<void> {
  const section = sections(python).find((candidate) => candidate.name === name)
  if (section === undefined) throw new Error(`There is no section "${name}"`)
  const file = join(folder, `${section.file}.jsonl`)
  const earlier = outcomesOf(folder, section.file).filter((outcome) => outcome.section === name)
  const answered = new Set(earlier.filter(({ verdict }) => verdict !== 'skipped').map(keyOf))
  const report = (outcome: Outcome) => {
    endWithParent()
    if (!answered.has(keyOf(outcome))) appendLine(file, { section: name, ...outcome })
  }
  // Time to finish the item under way before the process is ended.
  const deadline = performance.now() + Math.max(1, seconds - Math.min(5, seconds / 5)) * 1000
  const progress = new Progress(folder, section.name)
  for (const item of progress.interrupted) {
    report(judged(section.name, item, 'ends', 'the process ended in it', false))
    progress.end(item)
  }
  const once = async (item: string, run: () => Promise<void> | void) => {
    endWithParent()
    if (!progress.begin(item)) return
    try {
      await run()
    } catch (error) {
      report(judged(section.name, item, 'ends', nameOf(error), false))
    }
    endWithParent()
    progress.end(item)
    if (device.isLost) process.exit(DEVICE_LOST)
  }
  try {
    await section.group({ options: {}, isQuick, report, deadline, argument: section.argument ?? '', folder, once })
  } catch (error) {
    nameOf(error)
    report(judged(section.name, 'the section', 'ends', String(error instanceof Error ? error.stack : error), false))
    if (device.isLost) process.exit(DEVICE_LOST)
  }
}
