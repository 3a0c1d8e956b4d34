import { type ConformanceOptions, runConformance } from '@cudnn-rnn/conformance'
import { type Extent, requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import { openWasmBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const tolerances = { float32: 5e-6, float64: 1e-12 }

// The sources of both element types and instruction sets are the same: one of the four always runs everything, the others a
// covering subset, or everything on request.
for (const [index, instructionSet] of instructionSetsUnderTest().entries()) {
  const run = (dtypes: ConformanceOptions['dtypes'], extent: Extent) =>
    runConformance(`wasm ${instructionSet}`, ({ dtype }) => openWasmBackend({ dtype, instructionSet, threads: 1 }), {
      ...{ dtypes, tolerances, extent },
    })
  run(['float32'], index === 0 ? usualExtent : requestedExtent)
  run(['float64'], requestedExtent)
}

// Nearly all is the same code; in a page this test also starts workers of the browser.
runConformance('wasm on two threads', ({ dtype }) => openWasmBackend({ dtype, threads: 2 }), {
  ...{ dtypes: ['float32'], tolerances, extent: requestedExtent },
})
