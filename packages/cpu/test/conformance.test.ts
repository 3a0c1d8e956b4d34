import { runConformance, runNvidiaSample } from '@cudnn-rnn/testing'
import { openCpuBackend } from '../src/index.js'
import { isasUnderTest } from './isas_under_test.js'

for (const isa of isasUnderTest('conformance')) {
  runConformance(`cpu ${isa}`, ({ dtype }) => openCpuBackend({ dtype, isa, threads: 2 }), {
    dtypes: ['float32', 'float64'],
    tolerances: { float32: 5e-6, float64: 1e-12 },
  })
  runNvidiaSample(`cpu ${isa}`, ({ dtype }) => openCpuBackend({ dtype, isa, threads: 2 }))
}
