import { join } from 'node:path'
import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import type { Communicator, TrainingCheckpoints } from '@cudnn-rnn/rnn'
import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { colors } from './colors.js'
import { EXIT_CODES } from './exit_codes.js'
import { programCommand, shellWord } from './invocation.js'
import type { LoggedFitResult } from './logged_fit.js'
import { beginOnFirst, onEach, onFirst, overRanks } from './ranks.js'
import type { RunOptions } from './run_options.js'
import { beginRun, checkNoRun, isResume, type RunSettings, readRunSettings } from './run_settings.js'
import { resumedSettings, type SettingOption } from './setting_options.js'

/** Options of a command that trains a task: `train`, `classify` or `forecast`. */
export interface TaskRequest<Settings> extends RunOptions {
  readonly directory: string
  /** Names of the options that are given on the command line. */
  readonly given: ReadonlySet<string>
  readonly settings: Settings
}

export interface TaskRunOptions extends Pick<RunOptions, 'maxSeconds' | 'wire'> {
  readonly json: boolean
  /** The run was begun before. */
  readonly isResumed: boolean
}

/** Data, a model and the baselines to beat; disposed after use. */
export interface TaskRun<Result> {
  readonly settings: RunSettings
  readonly checkpoints: TrainingCheckpoints
  /** Trains and evaluates; undefined on ranks other than the first. */
  run(options: TaskRunOptions): Promise<Result | undefined>
  dispose(): void
}

export interface TrainingTask<Settings, Saved, Run, Result> {
  readonly format: string
  /** The options that a run records. */
  readonly settings: readonly SettingOption[]
  /**
   * Reads the data and builds the model, untrained.
   *
   * @param asked settings to train with: those of `saved`, if any, with the options that were given again.
   * @param saved the settings of a run to be resumed.
   */
  open(world: Communicator, request: TaskRequest<Settings>, asked: Settings, saved: Saved | null): Promise<Run>
  /** Whether the run that the directory holds may be replaced without `--overwrite`. */
  replaces?(request: TaskRequest<Settings>): Promise<boolean>
  /** The text before the progress display. */
  introduction(run: Run): string
  /** The report. */
  page(run: Run, result: Result): Promise<string>
  /** Other files, by their names. */
  files?(run: Run, result: Result): Readonly<Record<string, string>>
  /** The last line of `--json`, if there is one. */
  summary(run: Run, result: Result): object | undefined
  /** The text after the progress display. */
  conclusion(run: Run, result: Result, page: string): readonly string[]
}

/**
 * Trains over all ranks, or resumes a run, and leaves the report page and the other files in the run's directory.
 *
 * @throws RangeError `ERR_RUN_EXISTS` or `ERR_NO_RUN`
 */
export async function runTask<
  Settings extends object,
  Saved extends Settings & RunSettings,
  Result extends { readonly training: LoggedFitResult },
  Run extends TaskRun<Result>,
>(task: TrainingTask<Settings, Saved, Run, Result>, request: TaskRequest<Settings>): Promise<void> {
  await overRanks((world) => trainOver(world, task, request))
}

async function trainOver<
  Settings extends object,
  Saved extends Settings & RunSettings,
  Result extends { readonly training: LoggedFitResult },
  Run extends TaskRun<Result>,
>(
  world: Communicator,
  task: TrainingTask<Settings, Saved, Run, Result>,
  request: TaskRequest<Settings>,
): Promise<void> {
  const { directory, json = false, maxSeconds, wire } = request
  const saved = await onFirst(world, async () => {
    if (isResume(directory, request.resume)) return await readRunSettings<Saved>(directory, task.format)
    const replaces = request.overwrite || (await task.replaces?.(request))
    if (!replaces) checkNoRun(directory)
    return null
  })
  const run = await onEach(world, () => {
    const { given, settings } = request
    const asked = saved === null ? settings : resumedSettings(directory, task.settings, given, settings, saved)
    return task.open(world, request, asked, saved)
  })
  try {
    await using _lock = await beginOnFirst(world, run.checkpoints, async () => {
      if (saved === null) await beginRun(directory, run.settings)
      if (!json) process.stdout.write(task.introduction(run))
    })
    const result = await run.run({ json, maxSeconds, wire, isResumed: saved !== null })
    if (result === undefined) return
    const page = join(directory, 'report.html')
    await writeFileAtomic(page, await task.page(run, result))
    for (const [name, text] of Object.entries(task.files?.(run, result) ?? {})) {
      await writeFileAtomic(join(directory, name), text)
    }
    const summary = json ? task.summary(run, result) : undefined
    if (summary !== undefined) process.stdout.write(`${visibleJson(summary)}\n`)
    if (!json) process.stdout.write(`${task.conclusion(run, result, visibleText(page)).join('\n')}\n`)
    if (result.training.ending === 'interrupted') process.exitCode = EXIT_CODES.interrupted
  } finally {
    run.dispose()
  }
}

/** Lines about a training that was interrupted or ran out of time: its step, and the command that resumes it. */
export function unfinishedLines(
  { ending, step }: Pick<LoggedFitResult, 'ending' | 'step'>,
  { command, directory, steps }: { readonly command: string; readonly directory: string; readonly steps: number },
): string[] {
  if (ending !== 'interrupted' && ending !== 'out of time') return []
  const why = ending === 'interrupted' ? 'Interrupted' : 'Out of time'
  return [
    `${colors.yellow(why)} after step ${step} of ${steps}; everything up to it is saved in ${visibleText(directory)}.`,
    `${colors.bold('Go on')}     ${programCommand()} ${command} --resume --out ${shellWord(directory)}`,
  ]
}
