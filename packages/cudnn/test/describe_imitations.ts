import { describe, test } from 'vitest'
import { openFakeGpu } from './fake_gpu.js'

export type FakeGpu = Extract<ReturnType<typeof openFakeGpu>, { readonly problem: undefined }>

/** Tests over the imitation of each version of cuDNN; where there is none, a skipped test says why. */
export function describeImitations(tests: (gpu: FakeGpu, version: 8 | 9) => void): void {
  for (const version of [9, 8] as const) {
    const gpu = openFakeGpu(version)
    if (gpu.problem !== undefined) test.skip(`cuDNN ${version}: ${gpu.problem}`)
    else describe(`the imitation of cuDNN ${version}`, () => tests(gpu, version))
  }
}
