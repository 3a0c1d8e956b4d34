import { Command } from 'commander'
import { addDenoiseCommand } from './denoise/denoise_command.js'
import { addHandwritingCommand } from './handwriting/handwriting_command.js'
import { addSpeechCommand } from './speech/speech_command.js'
import { addTextCommand } from './text/text_command.js'
import { addLoadCommand } from './voice_load/load_command.js'
import { addVoiceServerCommand } from './voice_server/voice_server_command.js'

/** Trained models of other projects on this one's executors, whose weights are fetched apart (README.md), and one to train. */
export function createProgram(): Command {
  const program = new Command('examples').description(
    'Trained recurrent models of other projects, running, and a reader of handwriting to train.',
  )
  for (const addCommand of [
    addDenoiseCommand,
    addSpeechCommand,
    addTextCommand,
    addHandwritingCommand,
    addVoiceServerCommand,
    addLoadCommand,
  ])
    addCommand(program)
  return program
}
