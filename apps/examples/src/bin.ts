#!/usr/bin/env node
import { hasErrorCode, thrownMessage, visibleLines } from '@cudnn-rnn/canonical/rules'
import { createProgram } from './program.js'

await createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    const code = hasErrorCode(error) ? ` [${error.code}]` : ''
    const message = thrownMessage(error)
    process.stderr.write(visibleLines(`error${code}: ${message}\n`))
    process.exitCode = 1
  })
