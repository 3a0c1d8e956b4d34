import { basename, extname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { CLASSIFY_FORMAT } from '../classify/classify_run.js'
import { CLASSIFY_SETTINGS, type ClassifyRequest, runClassify } from '../classify/run_classify.js'
import type { CorpusSource } from '../classify/corpus.js'
import { TEXT_FORMATS } from '../classify/text_source.js'
import { type UseClassifierRequest, useClassifier } from '../classify/use_classifier.js'
import { codedRangeError } from '../coded_error.js'
import { addRunOptions, type RunOptions } from '../run_options.js'
import { addSettings, givenOptions, settingsOf } from '../setting_options.js'
import { checkUseOptions } from '../use_options.js'

/** Options as commander hands them over, without those that a run alone reads. */
type ClassifyOptions = RunOptions &
  Omit<UseClassifierRequest, 'run' | 'files' | 'given'> &
  Pick<CorpusSource, 'folder' | 'csv' | 'jsonl'> & { readonly run?: string }

export function addClassifyCommand(program: Command): void {
  const command = program
    .command('classify')
    .description('sort texts into classes: real spam and ham, or your own texts')
    .argument('[files...]', 'with --run: texts, CSV, JSON lines or folders to classify; - for standard input')
    .option('--run <dir>', 'classify the files with the classifier of this run, without training')
    .addOption(
      new Option('--format <name>', 'format of the files to classify (default: by their ending)').choices([
        ...TEXT_FORMATS,
      ]),
    )
  addSettings(command, CLASSIFY_SETTINGS)
  command.option('--out <dir>', 'directory of the run (default: runs/classify-<name of the texts>)')
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
  const { folder, csv, jsonl, out } = options
  const paths = [folder, csv, jsonl].filter((path) => path !== undefined)
  if (paths.length > 1) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot classify as one of --folder, --csv and --jsonl may be given: current paths are ${paths.join(' and ')}`,
    )
  }
  const [path] = paths
  return {
    ...options,
    given,
    directory: out ?? join('runs', `classify-${path === undefined ? 'spam' : basename(path, extname(path))}`),
    settings: { ...settingsOf<ClassifyRequest['settings']>(CLASSIFY_SETTINGS, options), format: CLASSIFY_FORMAT },
  }
}
