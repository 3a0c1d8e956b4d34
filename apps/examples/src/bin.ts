#!/usr/bin/env node
import { createProgram } from './program.js'

await createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
