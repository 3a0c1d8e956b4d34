import { runNvidiaSample } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { openReferenceBackend } from '../src/index.js'

// Half a minute of plain TypeScript for the four cell modes: the cell of one gate in every test run, all in
// `npm run test:all`, none in the browser. The other executors run this sample with every cell mode.
const cellModes = requestedExtent === 'all' ? undefined : (['rnn_tanh'] as const)
runNvidiaSample('reference', openReferenceBackend, { cellModes })
