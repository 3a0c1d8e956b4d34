import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyLibraries } from '@cudnn-rnn/native-cuda-emulator'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { afterEach, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { inspectCudnn, openCudnnBackend } from '../src/index.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'no-nvidia-'))

describe('openCudnnBackend', () => {
  it('refuses unknown options and values before it looks for anything', async () => {
    const wrong: readonly (readonly [object, string])[] = [
      [{ devices: 1 }, 'ERR_UNKNOWN_OPTION'],
      [{ dtype: 'int8' }, 'ERR_INVALID_OPTION'],
      [{ device: -1 }, 'ERR_INVALID_OPTION'],
      [{ algorithm: 'fast' }, 'ERR_INVALID_OPTION'],
      [{ precision: 'tf32', dtype: 'float64' }, 'ERR_INVALID_OPTION'],
    ]
    for (const [options, code] of wrong) await expect(openCudnnBackend(options as never)).rejects.toThrow(coded(code))
  })

  it('reports every path that it tried and one remedy if there is no library', async () => {
    const error = await openCudnnBackend({ libraryDir: emptyFolder() }).catch((reason: unknown) => reason)
    if (!(error instanceof BackendUnavailableError)) throw error
    expect(error.backend).toBe('cudnn')
    expect(error.attempts.length).toBeGreaterThan(0)
    expect(error.attempts.every(({ name }) => name === 'cudnn')).toBe(true)
    expect(error.advice).toMatch(/Install|Build/)
  })

  const gpu = openEmulatedGpu()
  describe.skipIf(gpu.problem !== undefined)(`over broken installations (${gpu.problem ?? ''})`, () => {
    if (gpu.problem !== undefined) return
    const { libraries, cacheDir } = gpu
    afterEach(() => libraries.configure('reset'))

    it.each([
      ['libcudnn_graph.so.9', /needs libcudnn_graph\.so\.9 beside it/],
      ['libcudnn_adv.so.9', /needs libcudnn_adv\.so\.9 beside it/],
      ['libcublasLt.so.13', /libcublasLt\.so\.13 or .* was not found/],
      ['libnvrtc.so.13', /nvrtc: .*was not found/],
    ])('a folder without %s is reported, and the process continues', async (file, reason) => {
      const folder = copyLibraries(libraries.folder, { withoutFiles: [file] })
      await expect(openCudnnBackend({ libraryDir: folder, cacheDir })).rejects.toMatchObject({
        code: 'ERR_BACKEND_UNAVAILABLE',
        message: expect.stringMatching(reason),
      })
    })

    it('a library without a symbol is reported with the symbol', async () => {
      const folder = copyLibraries(libraries.folder, { withoutSymbols: ['cudnnRNNForward'] })
      await expect(openCudnnBackend({ libraryDir: folder, cacheDir })).rejects.toThrow(/lacks cudnn: cudnnRNNForward/)
    })

    it.each([
      ['version.cudnn_adv=90100', /different versions/],
      ['devices=0', /the driver sees no GPU/],
      ['fault.cudnnCreate=1001@1', /cudnnCreate returned CUDNN_STATUS_NOT_INITIALIZED/],
      ['fault.cudaStreamCreateWithFlags=2@1', /cudaStreamCreateWithFlags returned cudaErrorMemoryAllocation/],
      ['fault.nvrtcCompileProgram=6@1', /nvrtcCompileProgram/],
      ['fault.cuModuleLoadData=209@1', /cuModuleLoadData/],
    ])('with %s it is unavailable and reports why', async (settings, reason) => {
      libraries.configure(settings)
      const freshCache = emptyFolder()
      await expect(openCudnnBackend({ libraryDir: libraries.folder, cacheDir: freshCache })).rejects.toMatchObject({
        code: 'ERR_BACKEND_UNAVAILABLE',
        message: expect.stringMatching(reason),
      })
      libraries.configure('reset')
      await using backend = await gpu.open()
      expect(backend.name).toBe('cudnn')
    })

    it('refuses a device that does not exist, and opens the second of two', async () => {
      libraries.configure('devices=2')
      await expect(gpu.open({ device: 2 })).rejects.toThrow(coded('ERR_INVALID_OPTION', { option: 'device', value: 2 }))
      await using backend = await gpu.open({ device: 1 })
      expect([...(await backend.zeros([2]).read()).data]).toEqual([0, 0])
    })

    it('compiles kernels once, finds them on disk afterwards, and looks none up before its first launch', async () => {
      const freshCache = emptyFolder()
      for (let round = 0; round < 2; round++) await (await gpu.open({ cacheDir: freshCache })).close()
      const { calls } = libraries.report()
      expect([calls['nvrtcCompileProgram'], calls['cuModuleGetFunction'] ?? 0]).toEqual([1, 0])
    })

    it('inspectCudnn reports libraries, versions, device and features, and advice if cuDNN does not work', async () => {
      const report = await inspectCudnn({ libraryDir: libraries.folder, cacheDir })
      expect(report).toMatchObject({ cudnn: '9.24.0', advice: '', device: { computeCapability: 90 } })
      expect(report.files.cudnn).toBe(join(libraries.folder, 'libcudnn.so.9'))
      expect(report.features).toEqual(['tf32', 'float16', 'bfloat16', 'memory pools'])
      libraries.configure('devices=0')
      expect(await inspectCudnn({ libraryDir: libraries.folder, cacheDir })).toMatchObject({
        cudnn: '9.24.0',
        device: undefined,
        advice: expect.stringContaining('nvidia-smi'),
      })
    })
  })
})
