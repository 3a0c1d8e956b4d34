import { Command } from 'commander'
import { version } from '../package.json'
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
import { programCommand } from './invocation.js'

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
  ['demo', 'train on Moby-Dick for a minute and print a sample'],
  ['train --text mine.txt', 'train on your own text'],
  ['sample runs/mine', 'let a trained model write'],
  ['inspect runs/mine', 'list the tensors of its latest checkpoint'],
  ['import model.pt', 'see the recurrent networks of a PyTorch, Keras, ONNX or Flax file'],
  ['run model.onnx --wav a.wav', 'stream a recording through an ONNX model'],
  ['forecast', 'forecast CO₂ in the air, and compare with two baselines'],
  ['classify', 'classify spam and ham, and compare with a bag of words'],
  ['doctor', 'list the executors and libraries of this machine'],
] as const

/** The command line: a table of contents of its commands. */
export function createProgram(): Command {
  const start = programCommand()
  const program = new Command('cudnn-rnn')
    .description('Train, run, import and export recurrent networks.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for all options)')
    .addHelpText(
      'after',
      `
Start here:
${START_HERE.map(([command, purpose]) => `  $ ${`${start} ${command}`.padEnd(start.length + 26)} ${purpose}`).join('\n')}

Exit codes: ${EXIT_CODES.ok} ok, ${EXIT_CODES.failed} failed, ${EXIT_CODES.usage} usage, ${EXIT_CODES.interrupted} interrupted after saving.`,
    )
  for (const addCommand of COMMANDS) addCommand(program)
  return program
}
