import { expect } from 'vitest'
import { createProgram } from '../src/run_program.js'

/** The error of a command that is refused, as the program prints it; without a process. */
export async function refusalOf(...args: readonly string[]): Promise<string> {
  const error: unknown = await createProgram()
    .parseAsync(['node', 'cudnn-rnn', ...args])
    .then(
      () => undefined,
      (reason: unknown) => reason,
    )
  expect(error).toBeInstanceOf(Error)
  const { code, message } = error as Error & { readonly code: string }
  return `[${code}]: ${message}`
}
