import { tableText } from '@cudnn-rnn/rnn/report'
import { type Communicator, Dataset } from '@cudnn-rnn/rnn'
import { truncatedWindows, Vocabulary } from '@cudnn-rnn/rnn/train'
import { visibleLines, visibleText } from '@cudnn-rnn/canonical/rules'
import { codedRangeError } from '../coded_error.js'
import { colors } from '../colors.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { windowBatch } from './char_language_model.js'
import { characterPage, characterTable, heldOutBits } from './character_page.js'
import { ngramBits } from './evaluation.js'
import { loadCorpus } from './text_corpus.js'
import {
  type AskedSettings,
  CHARACTER_FORMAT,
  CHARACTER_SETTINGS,
  type CharacterResult,
  type CharacterSettings,
  isRunOfDemo,
  TrainingRun,
} from './training_run.js'

/** Options of the command. */
export type TrainingRequest = TaskRequest<AskedSettings>

/** Trains as requested, then prints a sample and writes a report page into the run's directory. */
export async function runTraining(request: TrainingRequest): Promise<void> {
  const page = async (run: TrainingRun, { training, sampled }: CharacterResult) =>
    characterPage(run, training.reports, sampled, await run.gates())
  // A demo may be run again and again: it replaces the run of another one, but no other.
  const replaces = async ({ directory, settings }: TrainingRequest) =>
    settings.isDemo === true && (await isRunOfDemo(directory))
  const task = { format: CHARACTER_FORMAT, settings: CHARACTER_SETTINGS, open: openTraining, introduction, page }
  await runTask({ ...task, replaces, summary, conclusion }, request)
}

/** Reads the text and builds the model, untrained. */
export async function openTraining(
  world: Communicator,
  { directory, backend: name }: Pick<TrainingRequest, 'directory' | 'backend'>,
  asked: AskedSettings,
  saved: CharacterSettings | null,
): Promise<TrainingRun> {
  const { time, batch } = asked.plan
  if (batch < world.size) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot train as --batch must be at least the number of ranks, ${world.size}: current value is ${batch}`,
    )
  }
  const corpus = await loadCorpus(asked.textFile, saved === null ? undefined : new Vocabulary(saved.characters))
  const { vocabulary, train, heldOut } = corpus
  const fingerprint = dataFingerprint(train, heldOut)
  if (saved !== null) checkFingerprint(corpus.name, saved.fingerprint, fingerprint, saved.textFile)
  const windows = new Dataset(truncatedWindows(train, { time, batch })).map(windowBatch)
  const settings: CharacterSettings = {
    ...asked,
    format: CHARACTER_FORMAT,
    corpus: corpus.name,
    fingerprint,
    characters: vocabulary.symbols,
    sizes: { ...asked.sizes, vocabularySize: vocabulary.size },
    baselines: saved?.baselines ?? { bigram: ngramBits(corpus, 2), trigram: ngramBits(corpus, 3) },
  }
  const backend = await openBackendOfRank(name, world)
  return new TrainingRun({ directory, settings, backend, world }, corpus, windows)
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

/** Over several ranks. */
function summary({ settings: { plan } }: TrainingRun, { training: { step, ending, ranks } }: CharacterResult) {
  return ranks && { step, ending, ranks: rankSpeeds(ranks, plan.batch * plan.time) }
}

function conclusion(run: TrainingRun, { training, sampled }: CharacterResult, page: string): string[] {
  const { settings, directory } = run
  const bits = heldOutBits(training.reports)
  return [
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
    ...rankLines(training.ranks, settings.plan.batch * settings.plan.time, 'chars'),
    `${colors.bold('Report')}    ${page}`,
    `${colors.bold('Sample')}    ${programCommand()} sample ${shellWord(directory)}`,
    ...(settings.isDemo ? nextLines() : []),
    ...unfinishedLines(training, { command: 'train', directory, steps: settings.plan.steps }),
  ]
}
