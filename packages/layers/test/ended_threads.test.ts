import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { measured } from '../../../scripts/testing/measured_figures.mjs'

/** Threads of each executor, half a second of CPU each. A process ends about 100 of them, so that it also meets the remains of earlier ones. */
const COUNT = Number(process.env['CUDNN_RNN_TERMINATIONS'] ?? 6)
const IN_A_PROCESS = 100

const here = fileURLToPath(new URL('.', import.meta.url))
// Lies as deep as `src`, as the addons are found by a relative path, and in interop, of which the HDF5 library is a package.
const folder = await mkdtemp(join(here, '../../interop/.ended_threads-'))
const cache = await mkdtemp(join(tmpdir(), 'cudnn-rnn-kernels-'))
const program = join(folder, 'program.mjs')
const emulator = openCudaEmulator(9)
beforeAll(async () => {
  const external = ['apache-arrow', 'h5wasm']
  await bundleProgram(join(here, 'programs/ended_threads.ts'), program, { external })
  await bundleProgram(join(here, '../../interop/src/files/hdf5_worker.ts'), join(folder, 'hdf5_worker.js'), {
    external,
  })
})
afterAll(() => Promise.all([folder, cache].map((path) => rm(path, { recursive: true, force: true }))))

function run(executor: string, count: number) {
  const env = {
    ...process.env,
    ...(emulator.problem === undefined && { CUDNN_RNN_LIBRARY_DIR: emulator.folder, CUDNN_RNN_CUDA_EMULATOR: '1' }),
    CUDNN_RNN_CACHE_DIR: cache,
  }
  const settings = { env, timeout: 60_000 + 3000 * count, killSignal: 'SIGKILL' as const }
  return new Promise<{ status: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [program, executor, String(count)], settings, (_, stdout, stderr) => {
      resolve({ status: child.exitCode, signal: child.signalCode, stdout, stderr })
    })
  })
}

/** The emulator of CUDA is for Linux. */
const EXECUTORS = emulator.problem === undefined ? ['cpu', 'wasm', 'cudnn'] : ['cpu', 'wasm']

it.each(EXECUTORS)(
  '%s: threads that end in the middle of operations take nothing along',
  { timeout: 60_000 + 3000 * COUNT },
  async (executor) => {
    for (let left = COUNT; left > 0; left -= IN_A_PROCESS) {
      const count = Math.min(left, IN_A_PROCESS)
      const { stdout, ...ending } = await run(executor, count)
      const isSignal = Number(ending.signal !== null)
      measured({ [`threads of ${executor} that ended`]: Number(stdout), 'processes that a signal ended': isSignal })
      expect({ ...ending, stdout }).toEqual({ status: 7, signal: null, stderr: '', stdout: String(count) })
    }
  },
)
