// Runs the tests that depend on the JavaScript runtime on the other supported releases of Node.js. On
// machines for which npm has no binaries the matrix of the ci workflow covers them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasNodeReleases, nodeRelease } from '../build/npm_package.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { testFilesExcept } from '../workspace.mjs'

ownTemporaryFolder()

const RELEASES = ['22.23.3', '24.21.0']

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Addons and worker threads (ABI, teardown), WebAssembly with relaxed SIMD (from 22 on), Float16Array (from 24 on), files and
 * streams of node:fs, the module loader under the facade and the command line. Left out are files that compute the same on
 * every release: the models of other frameworks, mutated descriptions, and the suite over workers, which threads.node.test.ts starts.
 */
const TESTS = [
  'packages/checkpoint/test',
  'packages/cpu/test/lifetimes',
  'packages/cpu/test/process_end',
  'packages/cudnn/test/float16_values',
  'packages/cudnn/test/open_cudnn_backend',
  'packages/cudnn/test/threads',
  'packages/interop/test/weight_input',
  'packages/layers/test/ended_threads',
  ...testFilesExcept(root, 'packages/rnn/test', [
    'drawn_imports.test.ts',
    'import_oracle.test.ts',
    'mutated_descriptions.test.ts',
  ]),
  'packages/saveable/test/crash',
  ...testFilesExcept(root, 'packages/wasm/test', ['conformance_on_threads.test.ts']),
  'apps/cli/test/bin',
]

/** The suite covers each pair of attributes, and the fuzzer of weight files a fifth of its files. */
const BUDGET = { CUDNN_RNN_TESTS: 'covering', CUDNN_RNN_FUZZ_FILES: '60' }

if (!hasNodeReleases) {
  console.log(`Runtimes: not tested on ${process.platform}-${process.arch}`)
  process.exit(0)
}

let failed = false
for (const release of RELEASES) {
  console.log(`== Node.js ${release}`)
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...TESTS]
  const env = { ...process.env, ...BUDGET }
  const { status } = spawnSync(nodeRelease(release), args, { cwd: root, stdio: 'inherit', env })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
