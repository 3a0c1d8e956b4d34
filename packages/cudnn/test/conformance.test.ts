import { runConformance } from '@cudnn-rnn/testing'
import { describe, test } from 'vitest'
import { openFakeGpu } from './fake_gpu.js'

for (const version of [9, 8] as const) {
  const gpu = openFakeGpu(version)
  if (gpu.problem !== undefined) {
    test.skip(`cuDNN ${version}: ${gpu.problem}`)
    continue
  }
  describe(`the imitation of cuDNN ${version}`, () => {
    runConformance('cudnn', ({ dtype }) => gpu.open({ dtype }), {
      dtypes: ['float32', 'float64'],
      tolerances: { float32: 2e-6, float64: 1e-12 },
    })
  })
}
