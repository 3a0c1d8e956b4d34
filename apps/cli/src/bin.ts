#!/usr/bin/env node
import { EXIT_CODES } from './exit_codes.js'
import { runProgram } from './run_program.js'

// A closed pipe, as after `| head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT_CODES.ok)
})

await runProgram(process.argv.slice(2))
