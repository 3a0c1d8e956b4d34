import { REDUCED_PRECISION_SAMPLES, runNvidiaSample } from '@cudnn-rnn/conformance'
import { test } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

// The emulator's own tests run the sample in float32. Its arithmetic is the same in both versions, and slow.
const gpu = openEmulatedGpu()
if (gpu.problem !== undefined) test.skip(gpu.problem)
else {
  runNvidiaSample('cudnn float16', () => gpu.open({ precision: 'float16' }), REDUCED_PRECISION_SAMPLES.float16)
  const { tolerance } = REDUCED_PRECISION_SAMPLES.bfloat16
  runNvidiaSample('cudnn bfloat16', () => gpu.open({ precision: 'bfloat16' }), { cellModes: ['rnn_tanh'], tolerance })
}
