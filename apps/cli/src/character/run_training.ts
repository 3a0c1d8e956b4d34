import { visibleLines, visibleText } from '@cudnn-rnn/canonical/rules'
import { type Communicator, Dataset, type StepReport } from '@cudnn-rnn/rnn'
import {
  escapeHtml,
  htmlPage,
  type ResultTable,
  settingsHtml,
  tableHtml,
  tableText,
  trainingSections,
} from '@cudnn-rnn/rnn/report'
import { type GateWeights, truncatedWindows, Vocabulary } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { colors } from '../colors.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine, executorName } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { windowBatch } from './char_language_model.js'
import { ngramBits } from './evaluation.js'
import { loadCorpus } from './text_corpus.js'
import {
  type AskedSettings,
  CHARACTER_FORMAT,
  CHARACTER_SETTINGS,
  type CharacterResult,
  type CharacterSettings,
  isRunOfDemo,
  type Sample,
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

/** Bits per character on the held-out text at the last evaluation; undefined before the first. */
function heldOutBits(reports: readonly StepReport[]): number | undefined {
  return reports.findLast(({ metrics }) => metrics !== undefined)?.metrics?.['heldOutBits']
}

/** The model beside its baselines, in a table that an outsider can read. */
function characterTable({ settings }: TrainingRun, bits: number): ResultTable {
  const { bigram, trigram } = settings.baselines
  const { numLayers, numUnits } = settings.sizes
  const all = [bits, trigram, bigram]
  const names = [`CudnnLSTM ${numLayers} × ${numUnits}`, 'trigram model', 'bigram model']
  return {
    header: ['model', 'bits per character', 'against bigram'],
    rows: all.map((value, k) => {
      const difference = value - bigram
      return [
        names[k],
        value.toFixed(3),
        k === 2 ? '' : `${difference < 0 ? '−' : '+'}${Math.abs(difference).toFixed(3)}`,
      ]
    }),
    best: all.indexOf(Math.min(...all)),
    ours: 0,
  }
}

/** The report of a run: result, sample, training, settings. */
function characterPage(
  run: TrainingRun,
  reports: readonly StepReport[],
  sampled: Sample | undefined,
  gates: readonly GateWeights[],
): string {
  const { settings, corpus, backend } = run
  const { plan, sizes, baselines } = settings
  const bits = heldOutBits(reports)
  const result = bits === undefined ? [] : [{ heading: 'Result', html: tableHtml(characterTable(run, bits)) }]
  const count = (n: number) => n.toLocaleString('en-US')
  return htmlPage({
    title: `A character model of ${corpus.name}`,
    resultHtml: resultHtml(bits, baselines),
    sections: [
      ...result,
      ...(sampled === undefined ? [] : [sampleSection(sampled)]),
      ...trainingSections({
        reports,
        lossLabel: 'bits per character',
        lossScale: 1 / Math.LN2,
        metric: 'heldOutBits',
        metricLabel: 'held-out text',
        rules: [
          { y: baselines.bigram, text: `bigram ${baselines.bigram.toFixed(2)}` },
          { y: baselines.trigram, text: `trigram ${baselines.trigram.toFixed(2)}` },
        ],
        itemsPerStep: plan.time * plan.batch,
        itemName: 'characters',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          ['Text', `${corpus.name}, ${count(corpus.train.length)} characters, ${corpus.vocabulary.size} different`],
          ['Held out', `${count(corpus.heldOut.length)} characters at the end`],
          [
            'Model',
            `embedding ${sizes.embeddingSize}, CudnnLSTM ${sizes.numLayers} × ${sizes.numUnits}, dropout ${sizes.dropout}`,
          ],
          [
            'Training',
            `${reports.length} of ${plan.steps} steps of ${plan.batch} × ${plan.time} characters, Adam at ${plan.learningRate}`,
          ],
          ['Executor', executorName(backend)],
          ['Seed', String(plan.seed)],
        ]),
      },
    ],
  })
}

function resultHtml(bits: number | undefined, { bigram, trigram }: { bigram: number; trigram: number }): string {
  const baselines = `trigram model's ${trigram.toFixed(3)} and the bigram model's ${bigram.toFixed(3)}`
  if (bits === undefined) return `Not evaluated yet; to beat are the ${baselines} bits per character.`
  const side = bits < trigram ? 'below' : bits < bigram ? 'between' : 'above'
  return `<b>${bits.toFixed(3)} bits per character</b> on text it never saw: ${side} the ${baselines}.`
}

function sampleSection({ prompt, text }: Sample) {
  const shown = prompt.trim() === '' ? escapeHtml(text.trimStart()) : `<b>${escapeHtml(prompt)}</b>${escapeHtml(text)}`
  const html = `<blockquote>${shown}</blockquote>`
  return { heading: 'Sample', html }
}
