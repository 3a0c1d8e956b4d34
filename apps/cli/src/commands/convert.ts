import type { CellMode } from '@cudnn-rnn/rnn'
import { CELL_MODES } from '@cudnn-rnn/rnn/canonical'
import { type ConvertOptions, convertCheckpoint } from '@cudnn-rnn/rnn/saveable'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { type Command, Option } from 'commander'
import { checkpointPrefix } from '../checkpoint_path.js'

interface ConvertCommandOptions {
  readonly to: ConvertOptions['to']
  readonly mode?: CellMode
  readonly direction?: 'unidirectional' | 'bidirectional'
}

export function addConvertCommand(program: Command): void {
  program
    .command('convert')
    .description('rewrite the recurrent networks of a checkpoint under other names')
    .argument('<checkpoint>', 'prefix, or a directory for the latest in it')
    .argument('<target>', 'prefix of the checkpoint to write')
    .addOption(
      new Option('--to <form>', 'names to write: ours, of a TensorFlow release, or of its CPU cells (1.4 to 1.15)')
        .choices(['default', 'tf-1.2', 'tf-1.3', 'cells'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--mode <mode>', 'cell, if sizes are ambiguous').choices(Object.keys(CELL_MODES)))
    .addOption(
      new Option('--direction <direction>', 'directions, if sizes are ambiguous').choices([
        'unidirectional',
        'bidirectional',
      ]),
    )
    .action(async (path: string, target: string, { to, mode, direction }: ConvertCommandOptions) => {
      const prefix = await checkpointPrefix(path)
      const networks = await convertCheckpoint(prefix, target, { to, cellMode: mode, direction })
      for (const { name, from, biasesSummed } of networks) {
        const note = biasesSummed ? '; the two biases of each gate became their sum, or halves of it' : ''
        process.stdout.write(`${name === '' ? '(no scope)' : visibleText(name)}: ${from} → ${to}${note}\n`)
      }
      process.stdout.write(`${visibleText(target)}\n`)
    })
}
