import { describe, test } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

export type EmulatedGpu = Extract<ReturnType<typeof openEmulatedGpu>, { readonly problem: undefined }>

/** Tests over the emulator of each version of cuDNN, or of those named; a skipped test states why there is none. */
export function describeEmulators(
  tests: (gpu: EmulatedGpu, version: 8 | 9) => void,
  versions: readonly (8 | 9)[] = [9, 8],
): void {
  for (const version of versions) {
    const gpu = openEmulatedGpu(version)
    if (gpu.problem !== undefined) test.skip(`cuDNN ${version}: ${gpu.problem}`)
    else describe(`emulated cuDNN ${version}`, () => tests(gpu, version))
  }
}
