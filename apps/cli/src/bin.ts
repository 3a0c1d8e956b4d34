#!/usr/bin/env node
import { hasErrorCode } from '@cudnn-rnn/rnn'
import { visibleLines, visibleText } from '@cudnn-rnn/text'
import { CommanderError } from 'commander'
import pc from 'picocolors'
import { EXIT_CODES } from './exit_codes.js'
import { installCommand } from './invocation.js'
import { createProgram } from './program.js'

const program = createProgram()
const exitOverride = (command: typeof program): void => {
  command.exitOverride()
  command.commands.forEach(exitOverride)
}
exitOverride(program)

// A closed pipe, as after `| head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT_CODES.ok)
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has printed its message; help and version end with 0.
    process.exitCode = error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage
  } else {
    const code = error instanceof Error && 'code' in error ? ` [${visibleText(String(error.code))}]` : ''
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`${pc.red('error')}${code}: ${visibleLines(message)}\n`)
    if (hasErrorCode(error, 'ERR_PACKAGE_MISSING')) {
      process.stderr.write(`Here: ${installCommand(String(error['packageName']))}\n`)
    }
    if (process.env['DEBUG'] !== undefined && error instanceof Error)
      process.stderr.write(`${visibleLines(error.stack ?? '')}\n`)
    process.exitCode = EXIT_CODES.failed
  }
}
