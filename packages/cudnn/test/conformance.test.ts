import { runConformance } from '@cudnn-rnn/conformance'
import { describeEmulators } from './describe_emulators.js'

describeEmulators((gpu) => {
  runConformance('cudnn', ({ dtype }) => gpu.open({ dtype }), {
    dtypes: ['float32', 'float64'],
    tolerances: { float32: 2e-6, float64: 1e-12 },
  })
})
