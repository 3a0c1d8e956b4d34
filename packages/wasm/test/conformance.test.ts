import { type ConformanceOptions, runConformance } from '@cudnn-rnn/conformance'
import { type Extent, requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import { openWasmBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'
import { tolerances } from './tolerances.js'

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
