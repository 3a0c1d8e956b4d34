// Tests native/cudnn under sanitizers:
//   node scripts/test_native_cudnn.mjs [fake | suite | leaks]…    (all of them when none is named)
// fake: the imitation's own C++ tests under AddressSanitizer with UBSan. suite: the vitest project of packages/cudnn over
// addon and imitation, both built with these. leaks: a program that trains and ends, under LeakSanitizer, where what
// Node.js and the imitation themselves leave behind does not count.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildFakeLibraries } from '../native/cudnn/test/fake_cudnn/fake_libraries.mjs'
import { bundleProgram } from './bundle_program.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'native/cudnn')
const SANITIZE = 'address,undefined'

function run(command, args, { env = {}, cwd = root } = {}) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${command} ended with status ${status}`)
}

function built(options) {
  const { build, problem } = buildFakeLibraries({ sanitize: SANITIZE, ...options })
  if (problem !== undefined) throw new Error(`Cannot build the imitation: ${problem}`)
  return build
}

/** The addon with sanitizers, outside the places where loaders look. */
function addon() {
  const folder = join(source, 'build/sanitized')
  const options = ['-DCMAKE_BUILD_TYPE=RelWithDebInfo', '-DCUDNN_RNN_SANITIZE=ON', '--log-level=WARNING']
  run('cmake', ['-S', source, '-B', folder, ...options])
  run('cmake', ['--build', folder, '--target', 'cudnn_rnn_cudnn', '--parallel', '2'])
  return join(folder, 'cudnn_rnn_cudnn.node')
}

/** The path of a library of the compiler, for LD_PRELOAD: Node.js itself is not built with the sanitizer. */
const library = (name) => spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

const environment = () => ({
  CUDNN_RNN_CUDNN_ADDON: addon(),
  CUDNN_RNN_FAKE_SANITIZE: SANITIZE,
  LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')} ${library('libstdc++.so')}`,
  ASAN_OPTIONS: 'detect_leaks=0',
  UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
})

const tests = {
  fake() {
    const build = built({ tests: true })
    // Its tables of live things are never taken down; they are counted instead.
    run('ctest', ['--output-on-failure'], { cwd: build, env: { ASAN_OPTIONS: 'detect_leaks=0' } })
  },
  suite() {
    built()
    // The proof's processes have environments of their own, without the sanitizer's library.
    const args = ['run', '--project', 'cudnn', '--exclude', '**/proof.test.ts', '--testTimeout=300000']
    run(join(root, 'node_modules/.bin/vitest'), args, { env: environment() })
  },
  leaks() {
    const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-leaks-'))
    const program = join(folder, 'train.mjs')
    const suppressions = join(folder, 'suppressions')
    writeFileSync(
      suppressions,
      ['node', 'v8', 'uv_', 'libfake', 'fake::', 'libcud', 'libnvrtc', 'libcublas']
        .map((name) => `leak:${name}\n`)
        .join(''),
    )
    bundleProgram(join(root, 'packages/cudnn/test/programs/train.ts'), program)
    run(process.execPath, [program], {
      env: {
        ...environment(),
        CUDNN_RNN_LIBRARY_DIR: join(built(), 'lib/cudnn9'),
        CUDNN_RNN_CACHE_DIR: folder,
        CUDNN_RNN_FAKE_GPU: '1',
        ASAN_OPTIONS: 'detect_leaks=1',
        LSAN_OPTIONS: `suppressions=${suppressions}:print_suppressions=0`,
      },
    })
  },
}

const named = process.argv.slice(2)
for (const [name, test] of Object.entries(tests)) {
  if (named.length > 0 && !named.includes(name)) continue
  console.log(`== ${name}`)
  await test()
}
