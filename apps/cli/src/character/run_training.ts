import { join } from 'node:path'
import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { tableText } from '@cudnn-rnn/rnn/report'
import type { Communicator } from '@cudnn-rnn/rnn'
import { visibleLines, visibleText } from '@cudnn-rnn/canonical/rules'
import { codedRangeError } from '../coded_error.js'
import { colors } from '../colors.js'
import { executorLine } from '../executor_line.js'
import { EXIT_CODES } from '../exit_codes.js'
import { programCommand, shellWord } from '../invocation.js'
import type { LoggedFitResult } from '../logged_fit.js'
import { onEach, onFirst, overRanks, rankLines, rankSpeeds } from '../ranks.js'
import type { RunOptions } from '../run_options.js'
import { checkNoRun, isResume } from '../run_settings.js'
import { unfinishedLines } from '../run_task.js'
import { characterPage, characterTable, heldOutBits } from './character_page.js'
import { isRunOfDemo, type NewRun, type Sample, TrainingRun } from './training_run.js'

/** Options of the command. */
export interface TrainingRequest extends RunOptions {
  readonly directory: string
  readonly textFile: string | undefined
  /** Names of the options that are given on the command line. */
  readonly given: ReadonlySet<string>
  /** A demo may be run again and again: it replaces the run of another one, but no other. */
  readonly isDemo?: boolean
  readonly settings: Pick<NewRun, 'plan' | 'sizes'>
}

const SAMPLE_LENGTH = 400

/** Trains as requested, then prints a sample and writes a report page into the run's directory. */
export async function runTraining(request: TrainingRequest): Promise<void> {
  await overRanks((world) => trainOver(world, request))
}

async function trainOver(world: Communicator, request: TrainingRequest): Promise<void> {
  const { directory, json = false, maxSeconds, isDemo = false, backend, given, wire, textFile, settings } = request
  const newRun = { ...settings, textFile, isDemo: request.isDemo }
  const resumes = await onFirst(world, async () => {
    if (settings.plan.batch < world.size) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot train as --batch must be at least the number of ranks, ${world.size}: current value is ${settings.plan.batch}`,
      )
    }
    if (isResume(directory, request.resume)) return true
    const replaces = request.overwrite || (isDemo && (await isRunOfDemo(directory)))
    if (!replaces) checkNoRun(directory)
    return false
  })
  const run = resumes
    ? await TrainingRun.resume(directory, backend, { given, newRun }, world)
    : await onEach(world, () => TrainingRun.create(directory, backend, newRun, world))
  try {
    const onBegun = () => void (json || process.stdout.write(introduction(run)))
    const training = await run.run({ json, maxSeconds, wire, onBegun })
    if (training.ending === 'interrupted') process.exitCode = EXIT_CODES.interrupted
    if (world.rank > 0) return
    // No sample after an interrupt.
    const sampled = training.ending === 'interrupted' ? undefined : await run.write(SAMPLE_LENGTH)
    const page = join(directory, 'report.html')
    await writeFileAtomic(page, characterPage(run, training.reports, sampled, await run.gates()))
    if (!json) process.stdout.write(conclusion(run, training, sampled, page))
    else if (training.ranks) process.stdout.write(`${JSON.stringify(summary(run, training))}\n`)
  } finally {
    run.dispose()
  }
}

function introduction({ backend, corpus, settings }: TrainingRun): string {
  const { numUnits, numLayers, embeddingSize } = settings.sizes
  const { bigram, trigram } = settings.baselines
  const count = (n: number) => n.toLocaleString('en-US')
  return `${[
    `${colors.bold('Text')}      ${visibleText(corpus.name)}: ${count(corpus.train.length)} characters to learn from, ${count(corpus.heldOut.length)} held out, ${corpus.vocabulary.size} different`,
    `${colors.bold('Model')}     embedding ${embeddingSize} → CudnnLSTM ${numLayers} × ${numUnits} → linear → softmax`,
    `${colors.bold('Executor')}  ${executorLine(backend)}`,
    `${colors.bold('To beat')}   ${bigram.toFixed(3)} bits/char: the character bigram model on the held-out text; the trigram model has ${trigram.toFixed(3)}`,
  ].join('\n')}\n\n`
}

/** Other commands that bring their own data. */
function nextLines(): string[] {
  return [
    `${colors.bold('Forecast')}  ${programCommand()} forecast`,
    `${colors.bold('Classify')}  ${programCommand()} classify`,
  ]
}

/** The last line of `--json` over several ranks. */
function summary({ settings: { plan } }: TrainingRun, { step, ending, ranks }: LoggedFitResult) {
  return { step, ending, ranks: rankSpeeds(ranks, plan.batch * plan.time) }
}

function conclusion(
  run: TrainingRun,
  { ending, step, reports, ranks }: LoggedFitResult,
  sampled: Sample | undefined,
  page: string,
) {
  const { settings, directory } = run
  const bits = heldOutBits(reports)
  const lines = [
    '',
    bits === undefined ? `${colors.bold('Result')}    not evaluated yet` : tableText(characterTable(run, bits)),
    ...(sampled === undefined
      ? []
      : [
          '',
          colors.dim('Sample:'),
          sampled.prompt.trim() === ''
            ? visibleLines(sampled.text).trimStart()
            : `${colors.bold(visibleLines(sampled.prompt))}${visibleLines(sampled.text)}`,
          '',
        ]),
    ...rankLines(ranks, settings.plan.batch * settings.plan.time, 'chars'),
    `${colors.bold('Report')}    ${visibleText(page)}`,
    `${colors.bold('Sample')}    ${programCommand()} sample ${shellWord(directory)}`,
    ...(settings.isDemo ? nextLines() : []),
    ...unfinishedLines({ ending, step }, { command: 'train', directory, steps: settings.plan.steps }),
  ]
  return `${lines.join('\n')}\n`
}
