import { runConformance } from '@cudnn-rnn/conformance'
import { requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import { openReferenceBackend } from '../src/index.js'

const tolerances = { float32: 2e-6, float64: 1e-12 }
runConformance('reference', openReferenceBackend, { dtypes: ['float64'], tolerances, extent: usualExtent })
// Equations in float64 whose results are rounded: `npm run test:all` runs everything for both types.
runConformance('reference', openReferenceBackend, { dtypes: ['float32'], tolerances, extent: requestedExtent })
