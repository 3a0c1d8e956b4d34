import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { createProgram } from './program.js'

try {
  await createProgram().parseAsync()
} catch (error) {
  const code = error instanceof Error && 'code' in error ? ` [${String(error.code)}]` : ''
  process.stderr.write(`error${code}: ${thrownMessage(error)}\n`)
  if (process.env['DEBUG'] !== undefined && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
}
