import { basename, extname, join } from 'node:path'
import type { Command } from 'commander'
import { runTraining, type TrainingRequest } from '../character/run_training.js'
import { integerAtLeast, numberAtLeast, numberUpTo } from '../number_options.js'
import { givenOptions } from '../resume_options.js'
import { addRunOptions } from '../run_options.js'

/** Options as commander hands them over. */
interface TrainOptions extends Omit<TrainingRequest, 'directory' | 'textFile' | 'given'> {
  readonly text?: string
  readonly out?: string
}

/** The options that `train` and `demo` share; the defaults are the demo's: about a minute on one core. */
function addTrainingOptions(command: Command): Command {
  command
    .option('--out <dir>', 'directory of the run (default: runs/<name of the text>)')
    .option('--steps <n>', 'updates of the whole run', integerAtLeast(1), 1300)
    .option('--units <n>', 'LSTM units per layer', integerAtLeast(1), 128)
    .option('--layers <n>', 'LSTM layers', integerAtLeast(1), 1)
    .option('--embedding <n>', 'size of a character vector', integerAtLeast(1), 32)
    .option('--dropout <p>', 'drop probability between layers', numberUpTo(1), 0)
    .option('--batch <n>', 'rows of text trained side by side', integerAtLeast(1), 8)
    .option('--time <n>', 'characters per window', integerAtLeast(1), 24)
    .option('--learning-rate <x>', 'highest learning rate of Adam', numberAtLeast(0), 0.01)
    .option('--evaluate-every <n>', 'evaluate and save every so many updates', integerAtLeast(1), 130)
  return addRunOptions(
    command,
    '--steps and how often to evaluate and save',
    'one JSON line per update instead of the progress display',
  )
}

export function addTrainCommand(program: Command): void {
  const command = program
    .command('train')
    .description('train a character language model on your own text file')
    .option('--text <file>', 'UTF-8 text to learn from; a resumed run has recorded its text')
  addTrainingOptions(command).action(async (options: TrainOptions, command: Command) => {
    if (options.text === undefined && options.resume !== true)
      command.error("error: required option '--text <file>' not specified")
    await runTraining(trainingRequest(options, givenOptions(command)))
  })
}

/** The request that the options mean, with the run's directory named for the text. */
function trainingRequest({ text, out, ...options }: TrainOptions, given: ReadonlySet<string>): TrainingRequest {
  const name = text === undefined ? 'moby-dick' : basename(text, extname(text))
  return { ...options, given, textFile: text, directory: out ?? join('runs', name) }
}

/** The demo's training ends after this on any machine. */
const DEMO_SECONDS = 75

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('train on Moby-Dick for about a minute, sample, write a report page')
    .option('--text <file>', 'UTF-8 text to learn from instead')
  addTrainingOptions(command).action(async (options: TrainOptions, command: Command) => {
    const request = { ...trainingRequest(options, givenOptions(command)), isDemo: true }
    await runTraining({ ...request, maxSeconds: options.maxSeconds ?? DEMO_SECONDS })
  })
}
