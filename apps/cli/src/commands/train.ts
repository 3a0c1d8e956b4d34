import { basename, extname, join } from 'node:path'
import type { Command } from 'commander'
import { runTraining, type TrainingRequest } from '../character/run_training.js'
import { CHARACTER_SETTINGS } from '../character/training_run.js'
import { addRunOptions, type RunOptions } from '../run_options.js'
import { addSettings, givenOptions, settingsOf } from '../setting_options.js'

/** Options as commander hands them over, without those that a run alone reads. */
interface TrainOptions extends RunOptions {
  readonly text?: string
  readonly out?: string
}

/** The options that `train` and `demo` share. */
function addTrainingOptions(command: Command): Command {
  command.option('--out <dir>', 'directory of the run (default: runs/<name of the text>)')
  return addRunOptions(
    addSettings(command, CHARACTER_SETTINGS),
    '--steps and how often to evaluate and save',
    'one JSON line per update instead of the progress display',
  )
}

export function addTrainCommand(program: Command): void {
  const command = program
    .command('train')
    .description('train a character language model on your own text file')
    .showHelpAfterError('(train --text mine.txt learns from your file; add --help for all options)')
  addTrainingOptions(command).action(async (options: TrainOptions, command: Command) => {
    if (options.text === undefined && options.resume !== true)
      command.error("error: required option '--text <file>' not specified")
    await runTraining(trainingRequest(options, givenOptions(command)))
  })
}

/** The request that the options mean, with the run's directory named for the text. */
function trainingRequest(options: TrainOptions, given: ReadonlySet<string>): TrainingRequest {
  const { text, out } = options
  const name = text === undefined ? 'moby-dick' : basename(text, extname(text))
  const settings = settingsOf<TrainingRequest['settings']>(CHARACTER_SETTINGS, options)
  return { ...options, given, directory: out ?? join('runs', name), settings }
}

/** The demo's training ends after this on any machine. */
const DEMO_SECONDS = 75

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('train on Moby-Dick for about a minute, sample, write a report page')
  addTrainingOptions(command).action(async (options: TrainOptions, command: Command) => {
    const request = trainingRequest(options, givenOptions(command))
    const settings = { ...request.settings, isDemo: true }
    await runTraining({ ...request, settings, maxSeconds: options.maxSeconds ?? DEMO_SECONDS })
  })
}
