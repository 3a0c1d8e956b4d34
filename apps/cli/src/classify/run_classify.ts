import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { Communicator } from '@cudnn-rnn/rnn'
import { htmlPage, type ResultTable, settingsHtml, tableHtml, tableText, trainingSections } from '@cudnn-rnn/rnn/report'
import type { GateWeights } from '@cudnn-rnn/rnn/train'
import { colors } from '../colors.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine, executorName } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { numberAtLeast, numberUpTo } from '../number_options.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { changeable, dataPath, DELIMITER, setting, type SettingOption, trainingSettings } from '../setting_options.js'
import { CLASSIFY_FORMAT, type ClassifyResult, ClassifyRun, type ClassifySettings } from './classify_run.js'
import { accuracyOf, confusionHtml, confusionTable, macroF1, totalOf } from './confusion_matrix.js'
import { corpusPath, readCorpus } from './corpus.js'

/** Options of the command. */
export type ClassifyRequest = TaskRequest<AskedSettings>
type AskedSettings = Omit<ClassifySettings, 'fingerprint'>

/** Trains a classifier, compares it with its baselines, and leaves a report page in the run's directory. */
export async function runClassify(request: ClassifyRequest): Promise<void> {
  const page = async (run: ClassifyRun, result: ClassifyResult) => classifyPage(run, result, await run.gates())
  const task = { format: CLASSIFY_FORMAT, settings: CLASSIFY_SETTINGS, open: openRun, introduction, page }
  await runTask({ ...task, summary, conclusion }, request)
}

/** Reads the texts and builds the classifier, untrained. */
async function openRun(
  world: Communicator,
  { directory, backend: name }: ClassifyRequest,
  asked: AskedSettings,
  saved: ClassifySettings | null,
): Promise<ClassifyRun> {
  const corpus = await readCorpus(asked.source)
  const settings = { ...asked, fingerprint: dataFingerprint(JSON.stringify(corpus.texts)) }
  if (saved !== null) checkFingerprint(corpus.name, saved.fingerprint, settings.fingerprint, corpusPath(saved.source))
  const backend = await openBackendOfRank(name, world)
  return new ClassifyRun({ directory, settings, backend, world }, corpus)
}

export const CLASSIFY_SETTINGS: readonly SettingOption[] = [
  dataPath('source.folder', '--folder <dir>', 'train on a folder with one subfolder of text files per class'),
  dataPath('source.csv', '--csv <file>', 'train on a CSV file with columns text and label'),
  dataPath('source.jsonl', '--jsonl <file>', 'train on JSON lines, one object with text and label per line'),
  setting('source.textField', '--text-field <name>', 'column or field of the text', undefined, 'text'),
  setting('source.labelField', '--label-field <name>', 'column or field of the label', undefined, 'label'),
  setting('source.delimiter', '--delimiter <text>', DELIMITER),
  setting('source.limit', '--limit <n>', 'texts to use at most', 20, 3000),
  setting('encoding.vocabularySize', '--words <n>', 'most frequent words to know', 2, 3000),
  setting('encoding.maxLength', '--length <n>', 'words of a text to read', 1, 100),
  setting('sizes.cell', '--cell <name>', 'recurrent cell', ['lstm', 'gru'], 'gru'),
  setting('sizes.embeddingSize', '--embedding <n>', 'size of a word vector', 1, 24),
  setting('sizes.numUnits', '--units <n>', 'units per layer and direction', 1, 16),
  setting('sizes.numLayers', '--layers <n>', 'recurrent layers', 1, 1),
  setting('sizes.dropout', '--dropout <p>', 'drop probability between layers', numberUpTo(1), 0),
  changeable('steps', '--steps <n>', 'updates at most', 2, 600),
  setting('batch', '--batch <n>', 'texts per update', 1, 32),
  setting('learningRate', '--learning-rate <x>', 'peak learning rate of AdamW', numberAtLeast(0), 0.005),
  setting('weightDecay', '--weight-decay <x>', 'decay of all weights but biases', numberAtLeast(0), 0.05),
  changeable('evaluateEvery', '--evaluate-every <n>', 'evaluate and save every so many updates', 1, 33),
  changeable('patience', '--patience <n>', 'stop after so many evaluations without a better one', 1, 5),
  ...trainingSettings('saveEvery', 'encoding.seed'),
]

function introduction({ corpus, parts, classifier, settings, backend }: ClassifyRun): string {
  const { sizes, encoding } = settings
  const { train, validation, test } = parts
  return `${[
    `${colors.bold('Texts')}     ${visibleText(corpus.name)}: ${train.length} to learn from, ${validation.length} to stop by, ${test.length} held out`,
    `${colors.bold('Classes')}   ${visibleText(classifier.labels.join(', '))}; ${classifier.encoding.words.size} words known, the first ${encoding.maxLength} of a text are read`,
    `${colors.bold('Model')}     embedding ${sizes.embeddingSize} → bidirectional Cudnn${sizes.cell.toUpperCase()} ${sizes.numLayers} × ${sizes.numUnits} → linear → mean`,
    `${colors.bold('Executor')}  ${executorLine(backend)}`,
  ].join('\n')}\n\n`
}

function conclusion({ directory, settings }: ClassifyRun, result: ClassifyResult, page: string): string[] {
  const { training, classifiers } = result
  return [
    '',
    tableText(classifyTable(result)),
    '',
    tableText(confusionTable(classifiers[0].matrix)),
    '',
    ...rankLines(training.ranks, settings.batch, 'texts'),
    `${colors.bold('Verdict')}   ${verdict(result)}`,
    `${colors.bold('Report')}    ${page}`,
    `${colors.bold('Use it')}    ${programCommand()} classify --run ${shellWord(directory)} <files>`,
    ...unfinishedLines(training, { command: 'classify', directory, steps: settings.steps }),
  ]
}

function summary({ settings }: ClassifyRun, result: ClassifyResult) {
  const { step, ending, best, ranks } = result.training
  const classifiers = result.classifiers.map(({ name, matrix }) => {
    return { name, accuracy: accuracyOf(matrix), macroF1: macroF1(matrix), matrix }
  })
  return { step, ending, best, classifiers, ...(ranks && { ranks: rankSpeeds(ranks, settings.batch) }) }
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

/** Every classifier's figures, in a table that an outsider can read. */
function classifyTable({ classifiers }: ClassifyResult): ResultTable {
  const accuracies = classifiers.map(({ matrix }) => accuracyOf(matrix))
  return {
    header: ['classifier', 'right', 'wrong texts', 'macro F1'],
    rows: classifiers.map(({ name, matrix }, index) => {
      const total = totalOf(matrix)
      const wrong = Math.round(total * (1 - accuracies[index]))
      return [name, percent(accuracies[index]), `${wrong} of ${total}`, macroF1(matrix).toFixed(3)]
    }),
    best: accuracies.indexOf(Math.max(...accuracies)),
    ours: 0,
  }
}

/** One sentence that states whether the network was worth it. */
function verdict({ classifiers }: ClassifyResult): string {
  const [network, baseline] = classifiers.map(({ matrix }) => accuracyOf(matrix)) as [number, number]
  const total = totalOf(classifiers[0].matrix)
  const texts = Math.round(Math.abs(network - baseline) * total)
  if (texts === 0) return 'The network does as well as the bag of words, no better.'
  const difference = `${Math.abs(100 * (network - baseline)).toFixed(1)} points (${texts} of ${total} texts)`
  if (network > baseline) return `The network beats the bag of words by ${difference}.`
  return `The network does not beat the bag of words: it is ${difference} below.`
}

/** The report of a run: result, confusion, training, settings. */
function classifyPage(run: ClassifyRun, result: ClassifyResult, gates: readonly GateWeights[]): string {
  const { corpus, parts, classifier, settings, backend } = run
  const { sizes, encoding } = settings
  const { training, classifiers } = result
  return htmlPage({
    title: `Classes of ${corpus.name}`,
    resultHtml: `<b>${percent(accuracyOf(classifiers[0].matrix))} right</b> on ${parts.test.length} texts it never saw. ${verdict(result)}`,
    sections: [
      { heading: 'Result', html: tableHtml(classifyTable(result)) },
      {
        heading: 'Confusion matrix',
        html: classifiers
          .slice(0, 2)
          .map(({ name, matrix }) => confusionHtml(name, matrix))
          .join('\n'),
      },
      ...trainingSections({
        reports: training.reports,
        lossLabel: 'cross-entropy in nats',
        metric: 'loss',
        metricLabel: 'validation part',
        itemsPerStep: settings.batch,
        itemName: 'texts',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          [
            'Texts',
            `${corpus.name}: ${parts.train.length} to learn from, ${parts.validation.length} to stop by, ${parts.test.length} held out; classes ${classifier.labels.join(', ')}`,
          ],
          ['Words', `the first ${encoding.maxLength} of each text; ${classifier.encoding.words.size} are known`],
          [
            'Model',
            `embedding ${sizes.embeddingSize} → bidirectional Cudnn${sizes.cell.toUpperCase()} ${sizes.numLayers} × ${sizes.numUnits} → linear, mean over the text`,
          ],
          [
            'Training',
            `${training.step} of at most ${settings.steps} steps of ${settings.batch} texts, AdamW at ${settings.learningRate}, decay ${settings.weightDecay}; best at step ${training.best?.step}`,
          ],
          ['Executor', executorName(backend)],
          ['Seed', String(encoding.seed)],
        ]),
      },
    ],
  })
}
