import { tableText } from '@cudnn-rnn/rnn/report'
import type { Communicator } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { colors } from '../colors.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { numberAtLeast, numberUpTo } from '../number_options.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { changeable, DELIMITER, dataPath, type SettingOption, setting, trainingSettings } from '../setting_options.js'
import { classifyPage, classifyTable, verdict } from './classify_page.js'
import { CLASSIFY_FORMAT, type ClassifyResult, ClassifyRun, type ClassifySettings } from './classify_run.js'
import { accuracyOf, confusionTable, macroF1 } from './confusion_matrix.js'
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

/** The options that a run records. */
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
