import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { buildCudaEmulator, copyLibraries, openCudaEmulator } from '../cuda_emulator.mjs'

const { build, problem } = buildCudaEmulator({ tests: true })

if (problem !== undefined) test.skip(`the CUDA emulator is not tested here: ${problem}`, () => {})

describe.skipIf(build === undefined)('the CUDA emulator', () => {
  test('pass their own programs, in both versions', { timeout: 300_000 }, () => {
    // The sums of NVIDIA's sample take most of the time, and both versions compute them by the same sources.
    const left = process.env.CUDNN_RNN_TESTS === 'all' ? [] : ['--exclude-regex', 'test_sample_sums_cudnn8']
    const { status, stdout } = spawnSync('ctest', ['--output-on-failure', '--timeout', '120', ...left], {
      cwd: build,
      encoding: 'utf8',
    })
    expect(status, stdout).toBe(0)
  })

  test('openCudaEmulator hands over the folder and the controls', () => {
    const emulator = openCudaEmulator(9)
    emulator.configure('memory=1G; fault.cudaMalloc=2@1')
    expect(emulator.report()).toEqual({ live: {}, calls: {}, copied: {}, violations: [] })
    expect(() => emulator.configure('color=blue')).toThrow('Cannot set "color=blue"')
    emulator.configure('reset')
  })
})

describe.skipIf(build === undefined)('copyLibraries', () => {
  const copies = []
  afterAll(() => {
    for (const copy of copies) rmSync(copy, { recursive: true })
  })

  test('leaves files out and hides symbols', () => {
    const copy = copyLibraries(join(build, 'lib/cudnn9'), {
      withoutFiles: ['libcudnn_ops.so.9'],
      withoutSymbols: ['cudnnRNNSetClip_v9'],
    })
    copies.push(copy)
    expect(readdirSync(copy)).not.toContain('libcudnn_ops.so.9')
    const library = readFileSync(join(copy, 'libcudnn.so.9'))
    expect(library.includes('\0cudnnRNNSetClip_v8\0')).toBe(true)
    expect(library.includes('\0cudnnRNNSetClip_v9\0')).toBe(false)
  })
})
