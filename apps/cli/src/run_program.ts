import { setTimeout as wait } from 'node:timers/promises'
import { thrownMessage, visibleLines, visibleText } from '@cudnn-rnn/canonical/rules'
import { hasErrorCode } from '@cudnn-rnn/rnn'
import { CommunicatorError, detectLauncher } from '@cudnn-rnn/rnn/distributed'
import { Command, CommanderError } from 'commander'
import { version } from '../package.json'
import { errorColors } from './colors.js'
import { addClassifyCommand } from './commands/classify.js'
import { addConvertCommand } from './commands/convert.js'
import { addDoctorCommand } from './commands/doctor.js'
import { addExportCommand } from './commands/export.js'
import { addForecastCommand } from './commands/forecast.js'
import { addImportCommand } from './commands/import.js'
import { addInspectCommand, addVerifyCommand } from './commands/inspect.js'
import { addLayoutCommand } from './commands/layout.js'
import { addRunCommand } from './commands/run.js'
import { addSampleCommand } from './commands/sample.js'
import { addDemoCommand, addTrainCommand } from './commands/train.js'
import { EXIT_CODES } from './exit_codes.js'
import { installCommand, programCommand } from './invocation.js'

const COMMANDS = [
  addDemoCommand,
  addTrainCommand,
  addSampleCommand,
  addForecastCommand,
  addClassifyCommand,
  addInspectCommand,
  addVerifyCommand,
  addConvertCommand,
  addRunCommand,
  addImportCommand,
  addExportCommand,
  addLayoutCommand,
  addDoctorCommand,
]

/** The first commands to try. */
const START_HERE = [
  ['demo', 'train for a minute and print a sample'],
  ['train --text mine.txt', 'train on your own text'],
  ['sample runs/mine', 'let a trained model write'],
  ['inspect runs/mine', 'list the tensors of its checkpoint'],
  ['import model.pt', 'list the networks of a weight file'],
  ['run model.onnx --wav a.wav', 'stream a recording through a model'],
  ['forecast', 'forecast CO₂ in the air'],
  ['classify', 'classify spam and ham'],
  ['doctor', 'list the executors that work here'],
] as const

/** The command line: a table of contents of its commands. */
export function createProgram(): Command {
  const start = programCommand()
  const program = new Command('cudnn-rnn')
    .description('Train, run, import and export recurrent networks.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for all options)')
    // Commands with their arguments leave no room for descriptions, which are then not wrapped.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ outputError: (text, write) => write(text.replace(/'--([\w-]+)'$/m, withOwnName)) })
    .addHelpText(
      'after',
      `
Start here:
${START_HERE.map(([command, purpose]) => `  $ ${`${start} ${command}`.padEnd(start.length + 26)} ${purpose}`).join('\n')}

Exit codes: ${EXIT_CODES.ok} ok, ${EXIT_CODES.failed} failed, ${EXIT_CODES.usage} usage, ${EXIT_CODES.interrupted} interrupted after saving.`,
    )
  for (const addCommand of COMMANDS) addCommand(program)
  return program.hook('preAction', (_, command) => checkNotEmpty(command))
}

/** Options by the names of other programs. */
const OTHER_NAMES = new Map(
  Object.entries({
    ...{ epochs: 'steps', lr: 'learning-rate', 'hidden-size': 'units', 'hidden-dim': 'units', 'num-layers': 'layers' },
    ...{ target: 'value', column: 'value', output: 'out', device: 'backend', gpu: 'backend' },
  }),
)

function withOwnName(quoted: string, name: string): string {
  const own = OTHER_NAMES.get(name)
  return own === undefined ? quoted : `${quoted}\n(Did you mean --${own}?)`
}

/** An empty path would be the current folder: `--run "$RUN"` without a RUN. Only texts may be empty. */
function checkNotEmpty(command: Command): void {
  const given = command.opts()
  const option = command.options.find((each) => given[each.attributeName()] === '' && !each.flags.endsWith('<text>'))
  const place = command.args.indexOf('')
  const argument = place < 0 ? undefined : command.registeredArguments.slice(0, place + 1).at(-1)
  const empty = option?.flags ?? (argument && `<${argument.name()}>`)
  if (empty !== undefined) command.error(`error: ${empty} must not be empty`)
}

/**
 * All ranks of a launcher have the same command line, and the same mistakes in it. The first rank prints its error, and the
 * launcher ends the others. A rank that is not ended within this time prints its error, as it alone may have one.
 */
const FIRST_RANK_MILLISECONDS = 2000

/** Throws in place of an exit, and collects the texts of errors in `texts`. */
function overrideOutput(command: Command, texts: string[]): void {
  command.exitOverride()
  command.configureOutput({ writeErr: (text) => texts.push(text) })
  for (const child of command.commands) overrideOutput(child, texts)
}

/** Runs a command line. Prints the error of a command that fails, and sets `process.exitCode`. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const texts: string[] = []
  try {
    const program = createProgram()
    overrideOutput(program, texts)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    const isUsage = error instanceof CommanderError && error.exitCode !== 0
    if ((isUsage || error instanceof CommunicatorError) && isLaterRank()) await wait(FIRST_RANK_MILLISECONDS)
    if (error instanceof CommanderError) {
      process.stderr.write(visibleLines(texts.join('')))
      // Help and version end with 0.
      process.exitCode = isUsage ? EXIT_CODES.usage : EXIT_CODES.ok
    } else {
      printError(error, args)
      process.exitCode = EXIT_CODES.failed
    }
  }
}

/** Whether a launcher has started this process, and not as the first rank. */
function isLaterRank(): boolean {
  try {
    return (detectLauncher()?.rank ?? 0) > 0
  } catch {
    // Variables of a launcher that cannot be read: a command that needs them reports that.
    return false
  }
}

function printError(error: unknown, args: readonly string[]): void {
  const code = error instanceof Error && 'code' in error ? ` [${visibleText(thrownMessage(error.code))}]` : ''
  const message = thrownMessage(error)
  process.stderr.write(`${errorColors.red('error')}${code}: ${visibleLines(message)}\n`)
  if (hasErrorCode(error, 'ERR_PACKAGE_MISSING')) {
    process.stderr.write(`Here: ${installCommand(String(error['packageName']), args)}\n`)
  }
  if (process.env['DEBUG'] !== undefined && error instanceof Error)
    process.stderr.write(`${visibleLines(error.stack ?? '')}\n`)
}
