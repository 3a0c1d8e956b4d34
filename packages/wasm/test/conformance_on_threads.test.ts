import { runConformance } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { openWasmBackend } from '../src/index.js'
import { tolerances } from './tolerances.js'

// Nearly all is the same code; in a page this test also starts workers of the browser.
runConformance('wasm on two threads', ({ dtype }) => openWasmBackend({ dtype, threads: 2 }), {
  ...{ dtypes: ['float32'], tolerances, extent: requestedExtent },
})
