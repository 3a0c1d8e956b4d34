import { runNvidiaSample } from '@cudnn-rnn/conformance'
import { openReferenceBackend } from '../src/index.js'

// Half a minute of plain TypeScript: once is enough, so not in the browser as well.
runNvidiaSample('reference', openReferenceBackend)
