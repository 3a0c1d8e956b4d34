import { runNvidiaSample } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { openWasmBackend } from '../src/index.js'

// Two seconds for the four cell modes: one of them in every test run, all in `npm run test:all`.
const cellModes = requestedExtent === 'all' ? undefined : (['gru'] as const)
runNvidiaSample('wasm', openWasmBackend, { cellModes })
