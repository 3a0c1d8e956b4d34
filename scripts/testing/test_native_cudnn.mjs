// Tests native/cudnn under sanitizers:
//   node scripts/testing/test_native_cudnn.mjs [emulator | threads | suite]…    (all when none is named)
// emulator: the C++ tests of the CUDA emulator under AddressSanitizer with UBSan. threads: the threads of sessions over
// the emulator, both under ThreadSanitizer. suite: the vitest project of packages/cudnn over
// addon and emulator, both built with these. Leak detection is off, as all stacks begin in Node.js: the
// emulator counts live objects, and soak.test.ts measures the process.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCudaEmulator } from '../../native/cuda_emulator/cuda_emulator.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { testFilesExcept } from '../workspace.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'native/cudnn')
const SANITIZE = 'address,undefined'

function run(command, args, { env = {}, cwd = root } = {}) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${command} ended with status ${status}`)
}

function built({ sanitize = SANITIZE, tests = false } = {}) {
  const { build, problem } = buildCudaEmulator({ sanitize, tests })
  if (problem !== undefined) throw new Error(`Cannot build the CUDA emulator: ${problem}`)
  return build
}

/** A target of native/cudnn, built in a separate folder, outside the places where loaders look. */
function target(name, file, options) {
  const folder = join(source, 'build', name)
  run('cmake', ['-S', source, '-B', folder, '-DCMAKE_BUILD_TYPE=RelWithDebInfo', '--log-level=WARNING', ...options])
  run('cmake', ['--build', folder, '--target', file.replace('.node', ''), '--parallel', '2'])
  return join(folder, file)
}

/** The addon with sanitizers. */
const addon = () => target('sanitized', 'cudnn_rnn_cudnn.node', ['-DCUDNN_RNN_SANITIZE=ON'])

/** The path of a library of the compiler, for LD_PRELOAD: Node.js itself is not built with the sanitizer. */
const library = (name) => spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

const environment = () => ({
  CUDNN_RNN_CUDNN_ADDON: addon(),
  CUDNN_RNN_CUDA_EMULATOR_SANITIZE: SANITIZE,
  LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')} ${library('libstdc++.so')}`,
  ASAN_OPTIONS: 'detect_leaks=0:allocator_may_return_null=1',
  UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
})

const tests = {
  emulator() {
    const build = built({ tests: true })
    // Its tables of live things are never taken down; they are counted instead.
    run('ctest', ['--output-on-failure'], { cwd: build, env: { ASAN_OPTIONS: 'detect_leaks=0' } })
  },
  threads() {
    const libraries = join(built({ sanitize: 'thread' }), 'lib/cudnn9')
    const env = { CUDNN_RNN_CUDA_EMULATOR: '1', CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'slow=100' }
    run(target('threads', 'cudnn_rnn_test_session', ['-DCUDNN_RNN_SESSION_TEST=ON']), [libraries], { env })
  },
  suite() {
    built()
    // Under the sanitizer a process grows by quarantined memory. The sample would take an hour and adds no new memory accesses.
    const left = ['soak.test.ts', 'nvidia_sample.test.ts']
    const names = testFilesExcept(root, 'packages/cudnn/test', left)
    const args = ['run', '--project', 'cudnn', ...names, '--testTimeout=300000']
    run(join(root, 'node_modules/.bin/vitest'), args, { env: environment() })
  },
}

const named = process.argv.slice(2)
for (const [name, test] of Object.entries(tests)) {
  if (named.length > 0 && !named.includes(name)) continue
  console.log(`== ${name}`)
  test()
}
