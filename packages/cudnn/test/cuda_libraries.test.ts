import { existsSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { openCudaLibraries } from '../src/sys/cuda_libraries.js'
import type { NativeAddon } from '../src/sys/native_addon.js'
import { usesLibraryFolders } from './library_files.js'

const CUDNN_9 = ['libcudnn.so.9', 'libcudnn_graph.so.9', 'libcudnn_ops.so.9', 'libcudnn_adv.so.9']
const CUDA_13 = ['libcublasLt.so.13', 'libcudart.so.13', 'libcublas.so.13', 'libnvrtc.so.13']
const DRIVER = 'libcuda.so.1'
const COMPLETE = [...CUDNN_9, ...CUDA_13, DRIVER]

const { folderOf, rootOf } = usesLibraryFolders()

interface Machine {
  /** Reasons for which libraries do not open, by file name. */
  readonly refused?: Readonly<Record<string, string>>
  /** Symbols that bindLibraries does not find: of cuDNN alone, and of all libraries. */
  readonly missing?: readonly [readonly string[], readonly string[]]
  readonly conflict?: string
  readonly cudart?: number
}

/** A loader that opens the files below the rootOf(), and nothing of this machine. */
function addonOf({ refused = {}, missing = [[], []], conflict = '', cudart = 13_000 }: Machine = {}) {
  const calls: string[] = []
  const bound: Record<string, string>[] = []
  const addon = {
    openLibrary(path: string) {
      const name = basename(path)
      if (!path.startsWith(rootOf()) || !existsSync(path))
        return { error: `${name}: cannot open shared object file: No such file or directory` }
      if (refused[name] !== undefined) return { error: refused[name] }
      calls.push(name)
      return { file: path }
    },
    bindLibraries(paths: Record<string, string>) {
      calls.push(`bind ${Object.keys(paths).join(' ')}`)
      bound.push(paths)
      const lacks = missing[Object.keys(paths).length === 1 ? 0 : 1]
      if (lacks.length > 0) return { libraries: null, missing: lacks }
      return { libraries: 'libraries', missing: [], cudnnVersion: 92_400, cudnnCudart: cudart }
    },
    versionConflict: () => conflict,
  }
  return { addon: addon as unknown as NativeAddon, calls, bound }
}

describe('openCudaLibraries', () => {
  it('opens the parts of cuDNN by their places before it calls cuDNN, and binds all libraries', () => {
    const folder = folderOf('lib', [...COMPLETE, 'libnvrtc-builtins.so.13.0', 'libnvrtc-builtins.so.12.4.txt'])
    const { addon, calls, bound } = addonOf()
    const found = openCudaLibraries(addon, folder)
    expect(found).toMatchObject({ libraries: 'libraries', cudnnVersion: 92_400, attempts: [], advice: '' })
    expect(calls).toEqual([
      DRIVER,
      ...CUDNN_9,
      'bind cudnn',
      ...CUDA_13,
      'libnvrtc-builtins.so.13.0',
      'bind cudnn driver cudart cublas nvrtc',
    ])
    expect(found.files).toEqual({
      ...{ driver: join(folder, DRIVER), cudnn: join(folder, 'libcudnn.so.9') },
      ...{ cudart: join(folder, 'libcudart.so.13'), cublas: join(folder, 'libcublas.so.13') },
      ...{ cublasLt: join(folder, 'libcublasLt.so.13'), nvrtc: join(folder, 'libnvrtc.so.13') },
    })
    expect(bound[1]).toMatchObject({ cudnn: join(folder, 'libcudnn.so.9'), nvrtc: join(folder, 'libnvrtc.so.13') })
  })

  it('looks for the CUDA libraries of the release that cuDNN was built for, before others', () => {
    const older = ['libcublasLt.so.12', 'libcudart.so.12', 'libcublas.so.12', 'libnvrtc.so.12']
    const folder = folderOf('lib', [...COMPLETE, ...older])
    const { addon, calls } = addonOf({ cudart: 12_040 })
    expect(openCudaLibraries(addon, folder).libraries).toBe('libraries')
    expect(calls).toEqual(expect.arrayContaining(older))
    expect(calls).not.toEqual(expect.arrayContaining(['libcudart.so.13']))
  })

  it('opens those parts of cuDNN 8 that are there: some distributions leave out parts', () => {
    const eight = ['libcudnn.so.8', 'libcudnn_ops_infer.so.8', 'libcudnn_adv_infer.so.8', 'libcudnn_adv_train.so.8']
    const folder = folderOf('lib', [...eight, ...CUDA_13, DRIVER])
    const { addon, calls } = addonOf()
    expect(openCudaLibraries(addon, folder).libraries).toBe('libraries')
    expect(calls.filter((name) => name.startsWith('libcudnn'))).toEqual(eight)
  })

  it.each<[string, readonly string[], RegExp, RegExp]>([
    ['the driver', [DRIVER], /libcuda\.so\.1 was not found in .*the system's loader/, /NVIDIA driver/],
    ['cuDNN', ['libcudnn.so.9'], /libcudnn\.so\.9 or libcudnn\.so\.8 was not found/, /Install cuDNN 9/],
    ['a part of cuDNN', ['libcudnn_ops.so.9'], /needs libcudnn_ops\.so\.9 beside it/, /Install cuDNN 9/],
    ['cuBLASLt', ['libcublasLt.so.13'], /libcublasLt\.so\.13 or .* was not found/, /Install cuBLAS/],
    ['the runtime', ['libcudart.so.13'], /libcudart\.so\.13 or .* was not found/, /Install the CUDA runtime/],
    ['cuBLAS', ['libcublas.so.13'], /libcublas\.so\.13 or .* was not found/, /Install cuBLAS/],
    ['NVRTC', ['libnvrtc.so.13'], /libnvrtc\.so\.13 or .* was not found/, /Install NVRTC/],
  ])('reports the absence of %s and its remedy, and binds nothing for use', (_, absent, reason, advice) => {
    const folder = folderOf(
      'lib',
      COMPLETE.filter((name) => !absent.includes(name)),
    )
    const { addon, calls } = addonOf()
    const found = openCudaLibraries(addon, folder)
    expect(found).toMatchObject({ libraries: undefined, cudnnVersion: undefined })
    expect(found.attempts.map((attempt) => attempt.reason).join('\n')).toMatch(reason)
    expect(found.advice).toMatch(advice)
    expect(calls).not.toContain('bind cudnn driver cudart cublas nvrtc')
  })

  it('calls nothing of a cuDNN whose parts are not all there', () => {
    const folder = folderOf(
      'lib',
      COMPLETE.filter((name) => name !== 'libcudnn_graph.so.9'),
    )
    const { addon, calls } = addonOf()
    openCudaLibraries(addon, folder)
    expect(calls.filter((call) => call.startsWith('bind'))).toEqual([])
  })

  it('reports the symbols that cuDNN lacks, and those of the other libraries', () => {
    const folder = folderOf('lib', COMPLETE)
    const old = openCudaLibraries(addonOf({ missing: [['cudnn: cudnnRNNForward'], []] }).addon, folder)
    expect(old.libraries).toBeUndefined()
    expect(old.attempts.at(-1)!.reason).toBe(
      `${join(folder, 'libcudnn.so.9')} lacks cudnn: cudnnRNNForward; cuDNN 8.0.2 or later is needed`,
    )
    const other = openCudaLibraries(addonOf({ missing: [[], ['cudart: cudaGraphLaunch']] }).addon, folder)
    expect(other.libraries).toBeUndefined()
    expect(other.attempts.at(-1)).toEqual({ name: 'cudart', reason: 'symbols are missing: cudart: cudaGraphLaunch' })
  })

  it('reports parts of different versions', () => {
    const found = openCudaLibraries(addonOf({ conflict: 'SUBLIBRARY_MISMATCH' }).addon, folderOf('lib', COMPLETE))
    expect(found.libraries).toBeUndefined()
    expect(found.attempts.at(-1)!.reason).toMatch(/of different versions \(SUBLIBRARY_MISMATCH\)/)
  })

  it('passes over a file that does not open, reports it, and takes the next folder', () => {
    const wrong = folderOf('wrong', ['libcudart.so.13'])
    const right = folderOf('right/lib64', COMPLETE)
    vi.stubEnv('CUDA_HOME', dirname(right))
    // The one in the first folder is of another machine.
    const { addon } = addonOf()
    const openLibrary = (path: string) =>
      path === join(wrong, 'libcudart.so.13') ? { error: `${path}: wrong ELF class` } : addon.openLibrary(path)
    const found = openCudaLibraries({ ...addon, openLibrary }, wrong)
    expect(found.libraries).toBe('libraries')
    expect(found.files.cudart).toBe(join(right, 'libcudart.so.13'))
    expect(found.attempts).toEqual([{ name: 'cudart', reason: `${join(wrong, 'libcudart.so.13')}: wrong ELF class` }])
  })

  it('reports the files behind links', () => {
    const real = folderOf('real', COMPLETE)
    const linked = folderOf('linked', [])
    for (const name of COMPLETE) symlinkSync(join(real, name), join(linked, name))
    expect(openCudaLibraries(addonOf().addon, linked).files.cudart).toBe(join(real, 'libcudart.so.13'))
  })
})
