import { runNvidiaSample } from '@cudnn-rnn/testing'
import { test } from 'vitest'
import { FEW_BITS_SAMPLES } from '../proof/few_bits.js'
import { openFakeGpu } from './fake_gpu.js'

// In float32 the imitation's own tests sum; its arithmetic is the same in both versions, and takes a while.
const gpu = openFakeGpu()
if (gpu.problem !== undefined) test.skip(gpu.problem)
else {
  runNvidiaSample('cudnn float16', () => gpu.open({ precision: 'float16' }), FEW_BITS_SAMPLES.float16)
  const { tolerance } = FEW_BITS_SAMPLES.bfloat16
  runNvidiaSample('cudnn bfloat16', () => gpu.open({ precision: 'bfloat16' }), { cellModes: ['rnn_tanh'], tolerance })
}
