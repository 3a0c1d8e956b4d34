import { decoded, encoded, REDUCED_PRECISION_TOLERANCES, runConformance } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { describeEmulators } from './describe_emulators.js'
import { roundingRelu } from './rounding_relu.js'

/**
 * The emulator sums in float64 and rounds the stored results, so its TF32 products are exact. The test of TF32 is that
 * cuDNN and cuBLAS accept the calls.
 */
const TOLERANCES = { ...REDUCED_PRECISION_TOLERANCES, tf32: 2e-6 } as const

/** With eight significant bits, some states are rounded to the other side of relu's kink. */
const KINKS = {
  cases: ['rnn_relu_layers2_bi_skip', 'rnn_relu_time9', 'rnn_relu_bi_skip'],
  exact: roundingRelu((values) => Float64Array.from(values)),
  rounding: roundingRelu((values) => decoded(encoded(values, 'bfloat16'), 'bfloat16')),
}

// cuDNN 8 has no recurrent networks in bfloat16.
const PRECISIONS = { 9: ['tf32', 'float16', 'bfloat16'], 8: ['tf32', 'float16'] } as const

/** The precisions of both versions take the same path; `npm run test:all` runs both. */
const versions = requestedExtent === 'all' ? ([9, 8] as const) : ([9] as const)

describeEmulators((gpu, version) => {
  for (const precision of PRECISIONS[version]) {
    runConformance(`cudnn ${precision}`, () => gpu.open({ precision }), {
      dtypes: ['float32'],
      tolerances: { float32: TOLERANCES[precision], float64: 0 },
      roundingOracle: precision === 'bfloat16' ? KINKS : undefined,
      // `npm run test:all` runs everything.
      extent: requestedExtent,
    })
  }
}, versions)
