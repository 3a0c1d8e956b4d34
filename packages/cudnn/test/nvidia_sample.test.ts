import { REDUCED_PRECISION_SAMPLES, runNvidiaSample } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { test } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

// The emulator's own tests run the sample in float32. Its arithmetic is the same in both versions, and slow.
const gpu = openEmulatedGpu()
if (gpu.problem !== undefined) test.skip(gpu.problem)
else {
  const { float16 } = REDUCED_PRECISION_SAMPLES
  // One cell mode in every test run, all of them in `npm run test:all`.
  const cellModes = requestedExtent === 'all' ? float16.cellModes : (['rnn_tanh'] as const)
  runNvidiaSample('cudnn float16', () => gpu.open({ precision: 'float16' }), { ...float16, cellModes })
  const { tolerance } = REDUCED_PRECISION_SAMPLES.bfloat16
  runNvidiaSample('cudnn bfloat16', () => gpu.open({ precision: 'bfloat16' }), { cellModes: ['rnn_tanh'], tolerance })
}
