import { hasErrorCode } from '@cudnn-rnn/rnn'
import { visibleLines, visibleText } from '@cudnn-rnn/text'
import { type Command, CommanderError } from 'commander'
import pc from 'picocolors'
import { EXIT_CODES } from './exit_codes.js'
import { installCommand } from './invocation.js'
import { createProgram } from './program.js'

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  command.commands.forEach(throwInsteadOfExit)
}

/** Runs a command line. Prints the error of a command that fails, and sets `process.exitCode`. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const program = createProgram()
  throwInsteadOfExit(program)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // commander has printed its message; help and version end with 0.
      process.exitCode = error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage
    } else {
      printError(error)
      process.exitCode = EXIT_CODES.failed
    }
  }
}

function printError(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? ` [${visibleText(String(error.code))}]` : ''
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${pc.red('error')}${code}: ${visibleLines(message)}\n`)
  if (hasErrorCode(error, 'ERR_PACKAGE_MISSING')) {
    process.stderr.write(`Here: ${installCommand(String(error['packageName']))}\n`)
  }
  if (process.env['DEBUG'] !== undefined && error instanceof Error)
    process.stderr.write(`${visibleLines(error.stack ?? '')}\n`)
}
