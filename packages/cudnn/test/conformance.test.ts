import { runConformance } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { describeEmulators } from './describe_emulators.js'

// cuDNN 9 runs everything in every test run, cuDNN 8 in `npm run test:all`.
describeEmulators((gpu, version) => {
  runConformance('cudnn', ({ dtype }) => gpu.open({ dtype }), {
    dtypes: ['float32', 'float64'],
    tolerances: { float32: 2e-6, float64: 1e-12 },
    extent: version === 9 ? 'all' : requestedExtent,
  })
})
