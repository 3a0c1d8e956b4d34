import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/bundle_program.mjs'

/** Threads of each executor. A process ends about 100 of them, so that it also meets the remains of earlier ones. */
const COUNT = Number(process.env['CUDNN_RNN_TERMINATIONS'] ?? 40)
const IN_A_PROCESS = 100

const here = fileURLToPath(new URL('.', import.meta.url))
// As deep as `src`: the addons of this repository are found by a relative path.
const folder = await mkdtemp(join(here, '../.ended_threads-'))
const cache = await mkdtemp(join(tmpdir(), 'cudnn-rnn-kernels-'))
const program = join(folder, 'program.mjs')
const emulator = openCudaEmulator(9)
beforeAll(() =>
  bundleProgram(join(here, 'programs/ended_threads.ts'), program, { external: ['apache-arrow', 'h5wasm'] }),
)
afterAll(() => Promise.all([folder, cache].map((path) => rm(path, { recursive: true, force: true }))))

function run(executor: string, count: number) {
  const env = {
    ...process.env,
    ...(emulator.problem === undefined && { CUDNN_RNN_LIBRARY_DIR: emulator.folder, CUDNN_RNN_CUDA_EMULATOR: '1' }),
    CUDNN_RNN_CACHE_DIR: cache,
  }
  const settings = { env, timeout: 60_000 + 3000 * count, killSignal: 'SIGKILL' as const }
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, executor, String(count)], settings, (_, stdout, stderr) => {
      resolve({ status: child.exitCode, signal: child.signalCode, stdout, stderr })
    })
  })
}

it.each(['cpu', 'wasm', 'cudnn'])(
  '%s: threads that end in the middle of operations take nothing along',
  { timeout: 60_000 + 3000 * COUNT },
  async (executor) => {
    for (let left = COUNT; left > 0; left -= IN_A_PROCESS) {
      expect(await run(executor, Math.min(left, IN_A_PROCESS))).toEqual({
        status: 7,
        signal: null,
        stdout: '',
        stderr: '',
      })
    }
  },
)
