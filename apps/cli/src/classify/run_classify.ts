import { resolve } from 'node:path'
import { tableText } from '@cudnn-rnn/report'
import type { Communicator } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/text'
import pc from 'picocolors'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { changedOptions, checkFixedOptions, type FixedOption } from '../resume_options.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { classifyPage, classifyTable, verdict } from './classify_page.js'
import { CLASSIFY_FORMAT, type ClassifyResult, ClassifyRun, type ClassifySettings } from './classify_run.js'
import { accuracyOf, confusionTable, macroF1 } from './confusion_matrix.js'
import { type CorpusSource, corpusPath, readCorpus } from './corpus.js'

/** Options of the command. */
export type ClassifyRequest = TaskRequest<Omit<ClassifySettings, 'fingerprint'>>

/** Trains a classifier, compares it with its baselines, and leaves a report page in the run's directory. */
export async function runClassify(request: ClassifyRequest): Promise<void> {
  const page = async (run: ClassifyRun, result: ClassifyResult) => classifyPage(run, result, await run.gates())
  await runTask({ format: CLASSIFY_FORMAT, open: openRun, introduction, page, summary, conclusion }, request)
}

/** Reads the texts and builds the classifier, untrained. */
async function openRun(
  world: Communicator,
  request: ClassifyRequest,
  saved: ClassifySettings | null,
): Promise<ClassifyRun> {
  const asked = saved === null ? absolute(request.settings) : resumed(request, saved)
  const corpus = await readCorpus(asked.source)
  const settings = { ...asked, fingerprint: dataFingerprint(JSON.stringify(corpus.texts)) }
  if (saved !== null) checkFingerprint(corpus.name, saved.fingerprint, settings.fingerprint, corpusPath(saved.source))
  return new ClassifyRun(request.directory, settings, corpus, await openBackendOfRank(request.backend, world), world)
}

/** Options that affect the results are fixed for a run; the number of steps and the intervals of evaluation and saving are not. */
const FIXED: readonly FixedOption<ClassifyRequest['settings']>[] = [
  { name: 'textField', value: ({ source }) => source.textField },
  { name: 'labelField', value: ({ source }) => source.labelField },
  { name: 'delimiter', value: ({ source }) => source.delimiter },
  { name: 'limit', value: ({ source }) => source.limit },
  { name: 'words', value: ({ encoding }) => encoding.vocabularySize },
  { name: 'length', value: ({ encoding }) => encoding.maxLength },
  { name: 'seed', value: ({ encoding }) => encoding.seed },
  { name: 'cell', value: ({ sizes }) => sizes.cell },
  { name: 'embedding', value: ({ sizes }) => sizes.embeddingSize },
  { name: 'units', value: ({ sizes }) => sizes.numUnits },
  { name: 'layers', value: ({ sizes }) => sizes.numLayers },
  { name: 'dropout', value: ({ sizes }) => sizes.dropout },
  { name: 'batch', value: ({ batch }) => batch },
  { name: 'learningRate', value: ({ learningRate }) => learningRate },
  { name: 'weightDecay', value: ({ weightDecay }) => weightDecay },
]

const CHANGEABLE = ['steps', 'evaluateEvery', 'saveEvery', 'patience'] as const

function resumed({ directory, given, settings }: ClassifyRequest, saved: ClassifySettings): ClassifySettings {
  const asked = absolute(settings)
  checkFixedOptions(directory, FIXED, given, asked, saved)
  return {
    ...saved,
    ...changedOptions(given, asked, CHANGEABLE),
    // The file may have moved; that it holds the same data is checked when it has been read.
    source: PATHS.some((name) => given.has(name)) ? { ...saved.source, ...pathsOf(asked.source) } : saved.source,
  }
}

const PATHS = ['jsonl', 'csv', 'folder'] as const

/** A resumed run may start in another folder. */
function absolute({ source, ...settings }: ClassifyRequest['settings']): ClassifyRequest['settings'] {
  return { ...settings, source: { ...source, ...pathsOf(source) } }
}

function pathsOf(source: CorpusSource): Pick<CorpusSource, (typeof PATHS)[number]> {
  return Object.fromEntries(PATHS.map((name) => [name, source[name] === undefined ? undefined : resolve(source[name])]))
}

function introduction({ corpus, parts, classifier, settings, backend }: ClassifyRun): string {
  const { sizes, encoding } = settings
  const { train, validation, test } = parts
  return `${[
    `${pc.bold('Texts')}     ${visibleText(corpus.name)}: ${train.length} to learn from, ${validation.length} to stop by, ${test.length} held out`,
    `${pc.bold('Classes')}   ${visibleText(classifier.labels.join(', '))}; ${classifier.encoding.words.size} words known, the first ${encoding.maxLength} of a text are read`,
    `${pc.bold('Model')}     embedding ${sizes.embeddingSize} → bidirectional Cudnn${sizes.cell.toUpperCase()} ${sizes.numLayers} × ${sizes.numUnits} → linear → mean`,
    `${pc.bold('Executor')}  ${executorLine(backend)}`,
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
    `${pc.bold('Verdict')}   ${verdict(result)}`,
    `${pc.bold('Report')}    ${page}`,
    `${pc.bold('Use it')}    ${programCommand()} classify --run ${shellWord(directory)} <files>`,
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
