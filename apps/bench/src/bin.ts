import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { createProgram } from './program.js'

let isClosed = false
// A pipe whose reader has left, as after `| head`, ends the program as a signal does; a full disk is one line.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isClosed) return
  isClosed = true
  const isPipe = error.code === 'EPIPE'
  if (!isPipe) process.stderr.write(`error [ERR_OUTPUT_FILE]: Cannot write to standard output (${error.message})\n`)
  if (!process.emit('SIGTERM')) process.exit(isPipe ? 0 : 1)
})

try {
  await createProgram().parseAsync()
} catch (error) {
  const code = error instanceof Error && 'code' in error ? ` [${String(error.code)}]` : ''
  process.stderr.write(`error${code}: ${thrownMessage(error)}\n`)
  if (process.env['DEBUG'] !== undefined && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
}
