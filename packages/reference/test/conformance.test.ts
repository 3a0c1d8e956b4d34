import { runConformance } from '@cudnn-rnn/conformance'
import { openReferenceBackend } from '../src/index.js'

runConformance('reference', openReferenceBackend, {
  dtypes: ['float32', 'float64'],
  tolerances: { float32: 2e-6, float64: 1e-12 },
})
