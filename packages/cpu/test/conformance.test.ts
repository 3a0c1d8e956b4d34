import { runConformance, runNvidiaSample } from '@cudnn-rnn/conformance'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

for (const instructionSet of instructionSetsUnderTest('conformance')) {
  runConformance(`cpu ${instructionSet}`, ({ dtype }) => openCpuBackend({ dtype, instructionSet, threads: 2 }), {
    dtypes: ['float32', 'float64'],
    tolerances: { float32: 5e-6, float64: 1e-12 },
  })
  runNvidiaSample(`cpu ${instructionSet}`, ({ dtype }) => openCpuBackend({ dtype, instructionSet, threads: 2 }))
}
