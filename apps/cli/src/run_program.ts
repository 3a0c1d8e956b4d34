import { setTimeout as wait } from 'node:timers/promises'
import { thrownMessage, visibleLines, visibleText } from '@cudnn-rnn/canonical/rules'
import { hasErrorCode } from '@cudnn-rnn/rnn'
import { CommunicatorError, detectLauncher } from '@cudnn-rnn/rnn/distributed'
import { type Command, CommanderError } from 'commander'
import { errorColors } from './colors.js'
import { EXIT_CODES } from './exit_codes.js'
import { installCommand } from './invocation.js'
import { createProgram } from './program.js'

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
