import { basename } from 'node:path'
import type { SkippedCheckpoint } from '@cudnn-rnn/rnn/train'
import { readMetrics } from '@cudnn-rnn/rnn/train'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { codedRangeError } from './coded_error.js'
import { colors, errorColors } from './colors.js'

export function skippedText({ path, code, message }: SkippedCheckpoint): string {
  return `${basename(path)} was passed over [${code}]: ${message}`
}

/** Prints which checkpoints were passed over to the terminal; standard output may be for programs. */
export function warnOfSkipped(skipped: readonly SkippedCheckpoint[]): void {
  for (const each of skipped)
    process.stderr.write(`${errorColors.yellow('warning')}: ${visibleText(skippedText(each))}\n`)
}

/** Prints the step at which a run resumes, or that it is finished. */
export function announceResume(
  step: number,
  skipped: readonly SkippedCheckpoint[],
  { json, maxSteps }: { readonly json: boolean; readonly maxSteps: number },
): void {
  warnOfSkipped(skipped)
  if (json) return
  const from = step === 0 ? 'from the beginning: nothing was saved yet' : `after step ${step} of ${maxSteps}`
  const hint = step === maxSteps ? '; the run is finished, --steps with a larger number trains it longer' : ''
  process.stdout.write(`${colors.bold('Resumed')}   ${from}${hint}\n\n`)
}

/** Throws RangeError `ERR_STEPS_DONE` if a run has done more steps than it shall have. */
export function checkSteps(directory: string, step: number, maxSteps: number): void {
  if (step <= maxSteps) return
  throw codedRangeError(
    'ERR_STEPS_DONE',
    `Cannot resume ${directory} with --steps ${maxSteps} as the run has done ${step} steps: give a larger number, or leave the option out`,
    { step, maxSteps },
  )
}

/**
 * A run without a checkpoint starts over only if none was ever saved. A step is logged before it is saved, so steps after
 * an evaluation prove that a save was done.
 *
 * @throws RangeError `ERR_NO_WHOLE_CHECKPOINT`
 */
export async function checkNothingSaved(directory: string, metricsPath: string): Promise<void> {
  const reports = await readMetrics(metricsPath)
  const evaluated = reports.find(({ metrics }) => metrics !== undefined)
  const last = reports.at(-1)
  if (evaluated === undefined || last === undefined || last.step <= evaluated.step) return
  throw codedRangeError(
    'ERR_NO_WHOLE_CHECKPOINT',
    `Cannot resume ${directory} as it must hold a checkpoint: ${metricsPath} has ${last.step} steps, and every checkpoint is missing. Restore one from a copy, or begin a new run with --overwrite`,
    { directory },
  )
}
