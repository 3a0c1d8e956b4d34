import { runNvidiaSample } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { openReferenceBackend } from '../src/index.js'

// Half a minute of plain TypeScript for the four cell modes: one of them in every test run, all in `npm run test:all`, none in
// the browser.
const cellModes = requestedExtent === 'all' ? undefined : (['lstm'] as const)
runNvidiaSample('reference', openReferenceBackend, { cellModes })
