#!/usr/bin/env node
import { createProgram } from './program.js'

await createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? ` [${String(error.code)}]` : ''
    process.stderr.write(`error${code}: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
