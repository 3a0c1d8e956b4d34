import { type ConformanceOptions, runConformance, runNvidiaSample } from '@cudnn-rnn/conformance'
import { type Extent, requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import type { FloatDType } from '@cudnn-rnn/ops'
import { openCpuBackend } from '../src/index.js'
import { vectorsUnderTest } from './instruction_sets_under_test.js'

// The kernels of both element types and of all instruction sets are the same templates: float32 on the best set of this machine
// runs everything in every test run, the others a covering subset, or everything in `npm run test:all`.
for (const [index, instructionSet] of vectorsUnderTest('conformance').entries()) {
  const open = ({ dtype }: { readonly dtype: FloatDType }) => openCpuBackend({ dtype, instructionSet, threads: 2 })
  const run = (dtypes: ConformanceOptions['dtypes'], extent: Extent) =>
    runConformance(`cpu ${instructionSet}`, open, { dtypes, tolerances: { float32: 5e-6, float64: 1e-12 }, extent })
  const extent = index === 0 ? usualExtent : requestedExtent
  run(['float32'], extent)
  run(['float64'], requestedExtent)
  if (extent === 'all') runNvidiaSample(`cpu ${instructionSet}`, open)
}
