// Measures the time that a replayed call of the cuDNN executor takes on JavaScript's thread: `node scripts/bench/measure_cudnn_calls.mjs [--cpu-prof FOLDER]`.
// The calls are captured over the CUDA emulator, where the time that the addon takes to queue them is measured (median). Then
// submissions settle immediately, so that the executor's own work is timed (best of 100 rounds). In microseconds.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCudaEmulator } from '../../native/cuda_emulator/cuda_emulator.mjs'
import { bundleProgram } from '../testing/bundle_program.mjs'
import { thisPlatform } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const { folder: libraries, problem } = openCudaEmulator(9)
if (problem !== undefined) throw new Error(`Cannot measure as ${problem}`)
const folder = mkdtempSync(join(tmpdir(), 'cudnn-calls-'))
try {
  const program = join(folder, 'measure.mjs')
  await bundleProgram(join(root, 'packages/cudnn/test/programs/call_cost.ts'), program)
  const at = process.argv.indexOf('--cpu-prof')
  const profiling = at < 0 ? [] : ['--cpu-prof', '--cpu-prof-interval', '100', '--cpu-prof-dir', process.argv[at + 1]]
  const { status } = spawnSync(process.execPath, [...profiling, program], {
    stdio: 'inherit',
    env: {
      ...process.env,
      CUDNN_RNN_CUDNN_ADDON: join(root, 'native/cudnn/prebuilds', thisPlatform(), 'cudnn_rnn_cudnn.node'),
      CUDNN_RNN_LIBRARY_DIR: libraries,
      CUDNN_RNN_CACHE_DIR: folder,
      CUDNN_RNN_CUDA_EMULATOR: '1',
    },
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true })
}
