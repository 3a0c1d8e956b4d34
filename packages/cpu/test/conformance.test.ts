import { runConformance, runNvidiaSample } from '@cudnn-rnn/conformance'
import { requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

// The best instruction set of this machine runs everything in every test run, the others in `npm run test:all`.
for (const [index, instructionSet] of instructionSetsUnderTest('conformance').entries()) {
  const extent = index === 0 ? usualExtent : requestedExtent
  runConformance(`cpu ${instructionSet}`, ({ dtype }) => openCpuBackend({ dtype, instructionSet, threads: 2 }), {
    dtypes: ['float32', 'float64'],
    tolerances: { float32: 5e-6, float64: 1e-12 },
    extent,
  })
  if (extent === 'all') {
    runNvidiaSample(`cpu ${instructionSet}`, ({ dtype }) => openCpuBackend({ dtype, instructionSet, threads: 2 }))
  }
}
