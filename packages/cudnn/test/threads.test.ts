import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { loadAddon } from '../src/load_addon.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`the cuDNN executor in threads and at exit (${gpu.problem ?? ''})`, () => {
  if (gpu.problem !== undefined) return
  const program = join(mkdtempSync(join(tmpdir(), 'cudnn-rnn-program-')), 'train.mjs')
  const loaded = loadAddon()
  const env = {
    ...process.env,
    CUDNN_RNN_CUDNN_ADDON: 'file' in loaded ? loaded.file : '',
    CUDNN_RNN_LIBRARY_DIR: gpu.libraries.folder,
    CUDNN_RNN_CACHE_DIR: gpu.cacheDir,
    CUDNN_RNN_CUDA_EMULATOR: '1',
  }
  const run = (told: string, settings: string) =>
    spawnSync(process.execPath, [program, told], {
      env: { ...env, CUDNN_RNN_CUDA_EMULATOR_SETTINGS: settings },
      encoding: 'utf8',
      timeout: 100_000,
      killSignal: 'SIGKILL',
    })

  beforeAll(() => bundleProgram(fileURLToPath(new URL('./programs/train.ts', import.meta.url)), program))

  it('a program that disposes nothing exits normally', () => {
    const { status, stdout, stderr } = run('', '')
    expect(stderr).toBe('')
    expect(status).toBe(0)
    expect(Number(stdout)).not.toBeNaN()
  })

  it('process.exit in the middle of work exits with its code', () => {
    const { status, signal, stderr } = run('exit', 'slow=2000')
    expect({ status, signal, stderr }).toEqual({ status: 7, signal: null, stderr: '' })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('a program ends by %s while NVRTC compiles', async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-compiler-'))
    const [compiler, begun] = [join(folder, 'c++'), join(folder, 'begun')]
    writeFileSync(compiler, `#!/bin/sh\ntouch '${begun}'\nexec sleep 60\n`)
    chmodSync(compiler, 0o755)
    const child = spawn(process.execPath, [program, ''], {
      env: { ...env, CXX: compiler, CUDNN_RNN_CACHE_DIR: folder },
      stdio: ['ignore', 'inherit', 'inherit'],
      // A group, which ends with its compiler.
      detached: true,
    })
    const ended = once(child, 'exit')
    try {
      while (!existsSync(begun)) await setTimeout(20)
      child.kill(signal)
      expect(await ended).toEqual([null, signal])
    } finally {
      process.kill(-child.pid!, 'SIGKILL')
    }
  })

  it('four worker threads train at once, each with its own executor, to the same parameters', async () => {
    const sums = await Promise.all(
      Array.from(
        { length: 4 },
        () =>
          new Promise<number>((resolve, reject) => {
            const worker = new Worker(program, { env, workerData: '' })
            worker.on('message', resolve).on('error', reject)
          }),
      ),
    )
    expect(new Set(sums).size).toBe(1)
  })

  it('a worker thread that is terminated in the middle of work takes nothing along', async () => {
    const worker = new Worker(program, {
      env: { ...env, CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'slow=1000' },
      workerData: '',
    })
    await setTimeout(1500)
    await worker.terminate()
    await using backend = await gpu.open()
    expect([...(await backend.zeros([2]).read()).data]).toEqual([0, 0])
  })
})
