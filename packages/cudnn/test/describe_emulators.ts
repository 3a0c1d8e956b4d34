import { describe, test } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

export type EmulatedGpu = Extract<ReturnType<typeof openEmulatedGpu>, { readonly problem: undefined }>

/** Tests over the emulator of each version of cuDNN; a skipped test states why there is none. */
export function describeEmulators(tests: (gpu: EmulatedGpu, version: 8 | 9) => void): void {
  for (const version of [9, 8] as const) {
    const gpu = openEmulatedGpu(version)
    if (gpu.problem !== undefined) test.skip(`cuDNN ${version}: ${gpu.problem}`)
    else describe(`emulated cuDNN ${version}`, () => tests(gpu, version))
  }
}
