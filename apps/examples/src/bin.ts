#!/usr/bin/env node
import { hasErrorCode, thrownMessage, visibleLines } from '@cudnn-rnn/canonical/rules'
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

await createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    const code = hasErrorCode(error) ? ` [${error.code}]` : ''
    const message = thrownMessage(error)
    process.stderr.write(visibleLines(`error${code}: ${message}\n`))
    process.exitCode = 1
  })
