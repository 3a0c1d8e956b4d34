#!/usr/bin/env node
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { EXIT_CODES } from './exit_codes.js'
import { runProgram } from './run_program.js'

handleOutputErrors()

await runProgram(process.argv.slice(2))

/**
 * Handles errors of standard output. A closed pipe, as after `| head`, is none. If the disk of a redirection is full, the
 * program prints one line. In both cases a command that can save first, a training, gets the signal that lets it.
 */
function handleOutputErrors({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'> = process): void {
  let isReported = false
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isReported) return
    isReported = true
    const isClosed = error.code === 'EPIPE'
    const message = `Cannot write to standard output (${error.message}): free its disk or write elsewhere`
    if (!isClosed) stderr.write(`error [ERR_OUTPUT_FILE]: ${visibleText(message)}\n`)
    if (!process.emit('SIGTERM')) process.exit(isClosed ? EXIT_CODES.ok : EXIT_CODES.failed)
  })
  // Nothing is left to report it to.
  stderr.on('error', () => {})
}
