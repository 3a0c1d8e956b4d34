// Runs the tests that depend on the JavaScript runtime on the other supported releases of Node.js:
//   node scripts/testing/test_runtimes.mjs [--every-file]
// Files of which no release is known to differ run on one of them, whose turn CUDNN_RNN_SEED moves; with --every-file on all.
// On machines for which npm has no binaries the matrix of the ci workflow covers them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasNodeReleases, nodeRelease } from '../build/npm_package.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { filesBelow, testFilesExcept } from '../workspace.mjs'

ownTemporaryFolder()

const RELEASES = ['22.23.3', '24.21.0']

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What each release does in its own way: addons (ABI, teardown), worker threads, the collector, Float16Array. */
const ON_EACH = [
  'packages/cpu/test/lifetimes',
  'packages/cpu/test/process_end',
  'packages/cudnn/test/float16_values',
  'packages/cudnn/test/open_cudnn_backend',
  'packages/cudnn/test/threads',
  'packages/layers/test/ended_threads',
  'packages/wasm/test/instruction_set',
  'packages/wasm/test/lifetimes.node',
  'packages/wasm/test/threads.node',
  'packages/wasm/test/wasm_threads.node',
]

/**
 * Relaxed SIMD of WebAssembly, files and streams of node:fs, the module loader under the facade and the command line. Left out
 * are files that compute the same on every release: the models of other frameworks, mutated files and descriptions, and the
 * suite over workers, which threads.node.test.ts starts.
 */
const DEALT = [
  ...filesBelow(root, join(root, 'packages/checkpoint/test'), /(?<!fuzz_mutations|snappy_block)\.test\.ts$/),
  'packages/interop/test/weight_input',
  ...testFilesExcept(root, 'packages/rnn/test', [
    'drawn_imports.test.ts',
    'import_oracle.test.ts',
    'mutated_descriptions.test.ts',
  ]),
  'packages/saveable/test/crash',
  ...testFilesExcept(root, 'packages/wasm/test', ['conformance_on_threads.test.ts']),
  'apps/cli/test/bin',
].filter((file) => !ON_EACH.some((other) => file.startsWith(other)))

/**
 * Unless the environment says otherwise: the suite covers each pair of attributes, and what `npm test` repeats on its release
 * has fewer files, threads and executors.
 */
const BUDGET = {
  ...{ CUDNN_RNN_TESTS: 'covering', CUDNN_RNN_FUZZ_FILES: '60', CUDNN_RNN_FUZZ_MUTATIONS: '200' },
  ...{ CUDNN_RNN_TERMINATIONS: '2', CUDNN_RNN_SOAK_CYCLES: '100' },
}

if (!hasNodeReleases) {
  console.log(`Runtimes: not tested on ${process.platform}-${process.arch}`)
  process.exit(0)
}

const isWhole = process.argv.includes('--every-file')
const { CUDNN_RNN_SEED: seed = '1' } = process.env

let failed = false
for (const [turn, release] of RELEASES.entries()) {
  console.log(`== Node.js ${release}`)
  const dealt = DEALT.filter((_, index) => isWhole || (index + Number(seed)) % RELEASES.length === turn)
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...ON_EACH, ...dealt]
  const env = { ...BUDGET, ...process.env }
  const { status } = spawnSync(nodeRelease(release), args, { cwd: root, stdio: 'inherit', env })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
