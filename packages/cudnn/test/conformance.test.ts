import { runConformance } from '@cudnn-rnn/conformance'
import { type Extent, requestedExtent } from '@cudnn-rnn/conformance/extent'
import { describeEmulators } from './describe_emulators.js'

const tolerances = { float32: 2e-6, float64: 1e-12 }

// One of the four runs everything in every test run, the others in `npm run test:all`: the binding has the same calls for
// both element types and both versions. The fourth differs from the others in no call, so it runs there alone.
describeEmulators((gpu, version) => {
  const run = (dtype: 'float32' | 'float64', extent: Extent) =>
    runConformance('cudnn', () => gpu.open({ dtype }), { dtypes: [dtype], tolerances, extent })
  run('float32', version === 9 ? 'all' : requestedExtent)
  if (version === 9 || requestedExtent === 'all') run('float64', requestedExtent)
})
