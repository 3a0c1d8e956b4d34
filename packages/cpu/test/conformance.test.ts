import { type ConformanceOptions, runConformance, runNvidiaSample } from '@cudnn-rnn/conformance'
import { type Extent, requestedExtent, usualExtent } from '@cudnn-rnn/conformance/extent'
import type { FloatDType } from '@cudnn-rnn/ops'
import { openCpuBackend } from '../src/index.js'
import { vectorsUnderTest } from './instruction_sets_under_test.js'

// The kernels of both element types and of all instruction sets are the same templates: float32 on the best set of this machine
// runs everything in every test run, and float64 a covering subset; each other set runs that subset of one of the types. In
// `npm run test:all` all run everything.
for (const [index, instructionSet] of vectorsUnderTest('conformance').entries()) {
  const open = ({ dtype }: { readonly dtype: FloatDType }) => openCpuBackend({ dtype, instructionSet, threads: 2 })
  const run = (dtypes: ConformanceOptions['dtypes'], extent: Extent) =>
    runConformance(`cpu ${instructionSet}`, open, { dtypes, tolerances: { float32: 5e-6, float64: 1e-12 }, extent })
  const extent = index === 0 ? usualExtent : requestedExtent
  const hasBoth = index === 0 || requestedExtent === 'all'
  if (hasBoth || index % 2 === 0) run(['float32'], extent)
  if (hasBoth || index % 2 === 1) run(['float64'], requestedExtent)
  if (extent === 'all') runNvidiaSample(`cpu ${instructionSet}`, open)
}
