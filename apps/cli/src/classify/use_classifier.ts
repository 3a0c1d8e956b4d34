import { join } from 'node:path'
import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { type ResultTable, tableText } from '@cudnn-rnn/rnn/report'
import { type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { loadTextClassifier } from '@cudnn-rnn/rnn/tasks'
import { DataError } from '@cudnn-rnn/rnn/train'
import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { colors } from '../colors.js'
import { csvField } from '../csv_field.js'
import { decodedText } from '../decoded_text.js'
import { executorName } from '../executor_line.js'
import { makeOutputDirectory, unusedDirectory } from '../output_directory.js'
import { readRunSettings } from '../run_settings.js'
import { classifiedPage } from './classified_page.js'
import type { ClassifiedText } from './classified_text.js'
import { CLASSIFY_FORMAT, type ClassifySettings } from './classify_run.js'
import {
  accuracyOf,
  type ConfusionMatrix,
  confusionMatrix,
  confusionTable,
  macroF1,
  totalOf,
} from './confusion_matrix.js'
import { readTextFile, type SourceText, type TextFormat, textsOf } from './text_source.js'

/** Options of the command. */
export interface UseClassifierRequest {
  readonly run: string
  /** Paths; `-` is standard input. */
  readonly files: readonly string[]
  readonly format?: TextFormat | undefined
  readonly textField: string
  readonly labelField: string
  readonly delimiter?: string | undefined
  /** Names of the options that are given on the command line. */
  readonly given: ReadonlySet<string>
  readonly out?: string | undefined
  readonly backend: string
  readonly json?: boolean | undefined
}

/** Texts that the terminal shows, at most. */
const SHOWN = 40

/** Classifies texts with the classifier of a run; leaves a page and a CSV file. */
export async function useClassifier(request: UseClassifierRequest): Promise<void> {
  const { run, files, json = false } = request
  const { source } = await readRunSettings<ClassifySettings>(run, CLASSIFY_FORMAT)
  const texts = await textsOfFiles(request, source)
  using backend = await openBackend(request.backend as BackendName)
  using classifier = await loadTextClassifier(backend, run)
  const results = await classifier.classify(texts.map(({ text }) => text))
  const classified = texts.map((text, n) => ({ ...text, result: results[n] }))
  const matrix = matrixOf(classified, classifier.labels)
  const directory = request.out ?? unusedDirectory(join(run, 'classified'))
  if (!json || request.out !== undefined) {
    await makeOutputDirectory(directory)
    const settings = [
      ['Run', run],
      ['Texts', files.join(', ')],
      ['Executor', executorName(backend)],
    ] as const
    await writeFileAtomic(
      join(directory, 'report.html'),
      classifiedPage(classified, classifier.labels, matrix, settings),
    )
    await writeFileAtomic(join(directory, 'classes.csv'), classesCsv(classified, classifier.labels))
  }
  process.stdout.write(json ? jsonLines(classified, matrix) : conclusion(classified, matrix, directory))
}

async function textsOfFiles(request: UseClassifierRequest, saved: ClassifySettings['source']): Promise<SourceText[]> {
  const { files, format, given } = request
  if (files.length === 0)
    throw new DataError('ERR_DATA_EMPTY', 'Cannot classify as there must be a file, a folder or -', { path: '' })
  // The run records the names of its fields.
  const columns = {
    textField: given.has('textField') ? request.textField : saved.textField,
    labelField: given.has('labelField') ? request.labelField : saved.labelField,
    delimiter: request.delimiter,
  }
  const texts: SourceText[] = []
  for (const file of files) {
    const own =
      file === '-'
        ? await standardInput(format)
        : await readTextFile(file, format, columns).catch((cause: unknown) => Promise.reject(withHint(file, cause)))
    const several = files.length > 1 && !own.every(({ source }) => source.startsWith(file))
    texts.push(
      ...own.map((text) => (several && own.length > 1 ? { ...text, source: join(file, '..', text.source) } : text)),
    )
    if (own.every(({ text }) => text.trim() === '')) {
      const message = `Cannot classify ${file === '-' ? 'standard input' : file} as it must hold text: it is empty`
      throw new DataError('ERR_DATA_EMPTY', message, { path: file })
    }
  }
  return texts
}

/** Points to standard input if the file does not exist, such as for a text in place of a name. */
function withHint(file: string, cause: unknown): unknown {
  if (!(cause instanceof DataError) || (cause.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT')
    return cause
  const message = `${cause.message}. A text itself is read from standard input, which is named -`
  return new DataError('ERR_DATA_IO', message, { path: file }, { cause: cause.cause })
}

/** Standard input is one text, or with `lines` one for each line. */
async function standardInput(format: TextFormat = 'text'): Promise<SourceText[]> {
  if (format === 'csv' || format === 'jsonl') {
    throw new DataError('ERR_DATA_IO', `Cannot read ${format} from standard input: name a file`, { path: '-' })
  }
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return textsOf('-', decodedText('standard input', Buffer.concat(pieces)), format)
}

/** The matrix of the texts that have a class of the run; undefined if none has. */
function matrixOf(texts: readonly ClassifiedText[], labels: readonly string[]): ConfusionMatrix | undefined {
  const labeled = texts.flatMap(({ label, result }) =>
    label !== undefined && labels.includes(label)
      ? [{ actual: labels.indexOf(label), predicted: labels.indexOf(result.label) }]
      : [],
  )
  if (labeled.length === 0) return undefined
  return confusionMatrix(
    labels,
    labeled.map(({ actual }) => actual),
    labeled.map(({ predicted }) => predicted),
  )
}

function jsonLines(texts: readonly ClassifiedText[], matrix: ConfusionMatrix | undefined): string {
  const lines: object[] = texts.map(({ source, label, result }) => ({
    source,
    ...(label !== undefined && { actual: label }),
    ...result,
  }))
  if (matrix !== undefined) lines.push({ accuracy: accuracyOf(matrix), macroF1: macroF1(matrix), matrix })
  return lines.map((line) => `${visibleJson(line)}\n`).join('')
}

function conclusion(texts: readonly ClassifiedText[], matrix: ConfusionMatrix | undefined, directory: string): string {
  const hasLabels = texts.some(({ label }) => label !== undefined)
  const table: ResultTable = {
    header: ['text', 'class', 'probability', ...(hasLabels ? ['is'] : [])],
    rows: texts
      .slice(0, SHOWN)
      .map(({ source, label, result }) => [
        source,
        result.label,
        `${(100 * result.probability).toFixed(1)} %`,
        ...(hasLabels ? [label ?? ''] : []),
      ]),
  }
  const rest = texts.length - SHOWN
  const lines = [
    tableText(table),
    ...(rest > 0 ? [colors.dim(`${rest} more texts are in the file`)] : []),
    '',
    ...(matrix === undefined
      ? []
      : [
          tableText(confusionTable(matrix)),
          '',
          `${colors.bold('Accuracy')}  ${(100 * accuracyOf(matrix)).toFixed(1)} % of the ${totalOf(matrix)} texts with a class of the run`,
        ]),
    `${colors.bold('Report')}    ${visibleText(join(directory, 'report.html'))}`,
    `${colors.bold('Classes')}   ${visibleText(join(directory, 'classes.csv'))}`,
  ]
  return `${lines.join('\n')}\n`
}

function classesCsv(texts: readonly ClassifiedText[], labels: readonly string[]): string {
  const rows = texts.map(({ source, result }) => [
    csvField(source),
    csvField(result.label),
    ...labels.map((label) => String(result.probabilities[label])),
  ])
  return `${[['source', 'class', ...labels.map(csvField)], ...rows].map((row) => row.join(',')).join('\n')}\n`
}
