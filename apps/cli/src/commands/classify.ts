import { basename, extname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { CLASSIFY_FORMAT } from '../classify/classify_run.js'
import { type ClassifyRequest, runClassify } from '../classify/run_classify.js'
import { TEXT_FORMATS, type TextFormat } from '../classify/text_source.js'
import { useClassifier } from '../classify/use_classifier.js'
import { codedRangeError } from '../coded_error.js'
import { integerAtLeast, numberAtLeast, numberUpTo } from '../number_options.js'
import { givenOptions } from '../resume_options.js'
import { addRunOptions } from '../run_options.js'
import { checkUseOptions } from '../use_options.js'

/** Options as commander hands them over. */
interface ClassifyOptions extends Omit<ClassifyRequest, 'directory' | 'settings' | 'given'> {
  readonly run?: string
  readonly format?: TextFormat
  readonly folder?: string
  readonly csv?: string
  readonly jsonl?: string
  readonly delimiter?: string
  readonly textField: string
  readonly labelField: string
  readonly limit: number
  readonly out?: string
  readonly words: number
  readonly length: number
  readonly cell: 'lstm' | 'gru'
  readonly embedding: number
  readonly units: number
  readonly layers: number
  readonly dropout: number
  readonly steps: number
  readonly batch: number
  readonly learningRate: number
  readonly weightDecay: number
  readonly evaluateEvery: number
  readonly saveEvery?: number
  readonly patience: number
  readonly seed: number
}

export function addClassifyCommand(program: Command): void {
  const command = program
    .command('classify')
    .description('sort texts into classes: real spam and ham, or your own texts')
    .argument('[files...]', 'with --run: texts, CSV, JSON lines or folders to classify; - for standard input')
    .option('--run <dir>', 'classify the files with the classifier of this run, without training')
    .addOption(
      new Option('--format <name>', 'of the files of --run (default: by their ending)').choices([...TEXT_FORMATS]),
    )
    .option('--folder <dir>', 'train on a folder with one subfolder of text files per class')
    .option('--csv <file>', 'train on a CSV file with columns text and label')
    .option('--jsonl <file>', 'train on JSON lines, one object with text and label per line')
    .option('--text-field <name>', 'column or field of the text', 'text')
    .option('--label-field <name>', 'column or field of the label', 'label')
    .option('--delimiter <text>', 'separator of columns (default: , or ; or tab or |, as in the header)')
    .option('--limit <n>', 'texts to use at most', integerAtLeast(20), 3000)
    .option('--words <n>', 'size of the vocabulary: the most frequent words', integerAtLeast(2), 3000)
    .option('--length <n>', 'words of a text to read', integerAtLeast(1), 100)
    .addOption(new Option('--cell <name>', 'recurrent cell').choices(['lstm', 'gru']).default('gru'))
    .option('--embedding <n>', 'size of a word vector', integerAtLeast(1), 24)
    .option('--units <n>', 'units per layer and direction', integerAtLeast(1), 16)
    .option('--layers <n>', 'recurrent layers', integerAtLeast(1), 1)
    .option('--dropout <p>', 'drop probability between layers', numberUpTo(1), 0)
    .option('--steps <n>', 'updates at most', integerAtLeast(2), 600)
    .option('--batch <n>', 'texts per update', integerAtLeast(1), 32)
    .option('--learning-rate <x>', 'highest learning rate of AdamW', numberAtLeast(0), 0.005)
    .option('--weight-decay <x>', 'of everything but biases', numberAtLeast(0), 0.05)
    .option('--evaluate-every <n>', 'evaluate and save every so many updates', integerAtLeast(1), 33)
    .option('--patience <n>', 'stop after so many evaluations without a better one', integerAtLeast(1), 5)
    .option('--out <dir>', 'directory of the run (default: runs/classify-<name of the texts>)')
  addRunOptions(
    command,
    '--steps, --patience and how often to evaluate and save',
    'one JSON line per update, and one with the result',
  ).action((files: readonly string[], options: ClassifyOptions, command: Command) => {
    const given = givenOptions(command)
    if (options.run !== undefined) {
      checkUseOptions('classify', given, USE_OPTIONS)
      return useClassifier({ ...options, run: options.run, files, given })
    }
    if (files.length > 0) {
      throw codedRangeError(
        'ERR_INVALID_OPTION',
        `Cannot classify ${files[0]} as --run must name the run to classify with; to train, name texts by --folder, --csv or --jsonl`,
      )
    }
    return runClassify(classifyRequest(options, given))
  })
}

/** Options that may be given with --run. */
const USE_OPTIONS = ['run', 'format', 'textField', 'labelField', 'delimiter', 'out', 'backend', 'json']

function classifyRequest(options: ClassifyOptions, given: ReadonlySet<string>): ClassifyRequest {
  const { folder, csv, jsonl, textField, labelField, delimiter, limit, out, resume, overwrite, json, ...rest } = options
  const { maxSeconds, backend, wire } = rest
  const { words, length, cell, embedding, units, layers, dropout, steps, batch, learningRate, weightDecay } = rest
  const paths = [folder, csv, jsonl].filter((path) => path !== undefined)
  if (paths.length > 1) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot classify as one of --folder, --csv and --jsonl may be given: current paths are ${paths.join(' and ')}`,
    )
  }
  const [path] = paths
  const { evaluateEvery, saveEvery, patience, seed } = rest
  return {
    directory: out ?? join('runs', `classify-${path === undefined ? 'spam' : basename(path, extname(path))}`),
    ...{ given, resume, overwrite, json, maxSeconds, backend, wire },
    settings: {
      format: CLASSIFY_FORMAT,
      source: { folder, csv, jsonl, textField, labelField, delimiter, limit },
      encoding: { vocabularySize: words, maxLength: length, seed },
      sizes: { cell, embeddingSize: embedding, numUnits: units, numLayers: layers, dropout },
      ...{ steps, batch, learningRate, weightDecay, evaluateEvery, saveEvery, patience },
    },
  }
}
