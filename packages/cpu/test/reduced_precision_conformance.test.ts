import { REDUCED_PRECISION_TOLERANCES, runConformance } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { openCpu } from '../src/cpu_backend.js'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

// The best instruction set of this machine, the others in `npm run test:all`.
const instructionSets = instructionSetsUnderTest('conformance in bfloat16').filter(
  (_, index) => index === 0 || requestedExtent === 'all',
)

/**
 * Rounded factors move a sum across relu's kink in these cases. Their oracle is the portable kernels, which multiply in
 * float32: native/cpu/test compares them with the products of rounded factors.
 */
const KINKS = [
  ...['rnn_relu_layers3_bi_linear_ragged_no_state', 'rnn_relu_no_state_bi', 'rnn_relu_time9'],
  ...['rnn_relu_bi', 'rnn_relu_bi_skip', 'rnn_relu_bi_seqlen'],
]

for (const instructionSet of instructionSets) {
  const open = () => openCpu({ instructionSet, precision: 'bfloat16', threads: 2 }, false)
  runConformance(`cpu ${instructionSet} bfloat16`, open, {
    dtypes: ['float32'],
    tolerances: { float32: REDUCED_PRECISION_TOLERANCES.bfloat16, float64: 0 },
    extent: 'covering',
    roundingOracle: {
      cases: KINKS,
      exact: openCpuBackend({ dtype: 'float64' }),
      rounding: openCpu({ instructionSet: 'portable', precision: 'bfloat16' }, false),
    },
  })
}
