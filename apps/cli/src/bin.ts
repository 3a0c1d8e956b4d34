#!/usr/bin/env node
import { handleOutputErrors } from './output_errors.js'
import { runProgram } from './run_program.js'

handleOutputErrors()

await runProgram(process.argv.slice(2))
