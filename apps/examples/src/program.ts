import { Command } from 'commander'
import { addDenoiseCommand } from './denoise/denoise_command.js'
import { addSpeechCommand } from './speech/speech_command.js'
import { addTextCommand } from './text/text_command.js'

/** Trained models of other projects on this one's executors. The weights are the reader's to fetch: see README.md. */
export function createProgram(): Command {
  const program = new Command('examples').description('Trained recurrent models of other projects, running.')
  for (const addCommand of [addDenoiseCommand, addSpeechCommand, addTextCommand]) addCommand(program)
  return program
}
