import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyLibraries } from '@cudnn-rnn/native-cuda-emulator'
import { describe, expect, it, vi } from 'vitest'
import { kernelArchitecture } from '../src/device/device_kernels.js'
import { loadAddon } from '../src/load_addon.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'kernels-'))

/** The architectures that NVRTC 13.0 reports as supported. */
const KNOWN = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]

it.each([
  [90, KNOWN, 'sm_90'],
  [121, KNOWN, 'sm_121'],
  [130, KNOWN, 'compute_121'],
  [101, KNOWN, 'compute_100'],
  // Older than all supported ones: NVRTC's own error reports that.
  [70, KNOWN, 'sm_70'],
  [90, [], 'sm_90'],
])('kernelArchitecture for compute capability %i of an NVRTC that supports %o', (capability, known, architecture) => {
  expect(kernelArchitecture(capability, known)).toBe(architecture)
})

describe.skipIf(gpu.problem !== undefined)(`kernels (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu

  it.each([
    ['9.0', 'nvrtcGetCUBIN'],
    ['13.0', 'nvrtcGetPTX'],
  ])('for a GPU of compute capability %s come from %s, and compute', async (capability, source) => {
    libraries.configure(`reset; capability=${capability}`)
    await using backend = await open({ cacheDir: emptyFolder() })
    using sum = backend.zeros([2])
    backend.ops.accumulate(sum, { data: Float32Array.of(1, 2), shape: [2] }, 3)
    expect([...(await sum.read()).data]).toEqual([3, 6])
    const { calls } = libraries.report()
    expect([calls['nvrtcGetCUBIN'] ?? 0, calls['nvrtcGetPTX'] ?? 0]).toEqual(
      source === 'nvrtcGetCUBIN' ? [1, 0] : [0, 1],
    )
    libraries.configure('reset')
  })

  it('are compiled on all processors, and on one by an NVRTC that has no option for it', async () => {
    libraries.configure('reset')
    const { addon } = loadAddon()
    if (addon === undefined) return
    const { compileKernels } = addon
    const compile = vi.spyOn(addon, 'compileKernels')
    await (await open({ cacheDir: emptyFolder() })).close()
    expect(compile.mock.calls.map(([, , options]) => options.includes('--split-compile=0'))).toEqual([true])
    compile.mockClear().mockImplementation((cuda, source, options) => {
      const statusName = 'NVRTC_ERROR_INVALID_OPTION'
      if (options.includes('--split-compile=0'))
        return Promise.reject(Object.assign(new Error(statusName), { statusName }))
      return compileKernels(cuda, source, options)
    })
    await using backend = await open({ cacheDir: emptyFolder() })
    expect([...(await backend.zeros([1]).read()).data]).toEqual([0])
    expect(compile).toHaveBeenCalledTimes(2)
    compile.mockRestore()
  })

  it('an NVRTC without a list of architectures compiles for the architecture of the device', async () => {
    libraries.configure('reset')
    const withoutSymbols = ['nvrtcGetNumSupportedArchs', 'nvrtcGetSupportedArchs']
    const libraryDir = copyLibraries(libraries.folder, { withoutSymbols })
    await using backend = await open({ libraryDir, cacheDir: emptyFolder() })
    expect([...(await backend.zeros([1]).read()).data]).toEqual([0])
  })
})
