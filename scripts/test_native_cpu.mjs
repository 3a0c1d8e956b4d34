// Tests native/cpu under sanitizers, and its NEON kernels under an emulator where there is a cross compiler:
//   node scripts/test_native_cpu.mjs [thread | address | suite | neon]…    (all of them when none is named)
// thread, address: the C++ tests under ThreadSanitizer, and under AddressSanitizer with UBSan. suite: the vitest project of
// packages/cpu under the latter, on every instruction set. neon: the C++ tests, cross-compiled, under qemu-user.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'native/cpu')
const CROSS = 'aarch64-linux-gnu-'

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${command} ended with status ${status}`)
}

const finds = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0

/** Configures and builds `target` with plain CMake; returns the build folder. */
function build(name, target, options) {
  const folder = join(source, 'build', name)
  const base = ['-S', source, '-B', folder, '-DCMAKE_BUILD_TYPE=RelWithDebInfo', '-DCUDNN_RNN_TESTS=ON', ...options]
  run('cmake', [...base, '--log-level=WARNING'])
  run('cmake', ['--build', folder, '--target', target, '--parallel', '2'])
  return folder
}

/** The path of a library of the compiler, for LD_PRELOAD: Node.js itself is not built with the sanitizer. */
const library = (name) => spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

const tests = {
  thread() {
    const folder = build('tsan', 'native_test', ['-DCUDNN_RNN_ADDON=OFF', '-DCUDNN_RNN_SANITIZE=thread'])
    run(join(folder, 'native_test'), [])
  },
  address() {
    const folder = build('asan', 'native_test', ['-DCUDNN_RNN_ADDON=OFF', '-DCUDNN_RNN_SANITIZE=address,undefined'])
    run(join(folder, 'native_test'), [])
  },
  suite() {
    const folder = build('asan-addon', 'cudnn_rnn_cpu', ['-DCUDNN_RNN_SANITIZE=address,undefined'])
    run(join(root, 'node_modules/.bin/vitest'), ['run', '--project', 'cpu', '--exclude', '**/lifetimes.test.ts'], {
      CUDNN_RNN_CPU_ADDON: join(folder, 'cudnn_rnn_cpu.node'),
      LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')} ${library('libstdc++.so')}`,
      // What Node.js leaves behind at exit is not ours.
      ASAN_OPTIONS: 'detect_leaks=0',
      UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
    })
  },
  neon() {
    if (!finds(`${CROSS}g++`) || !finds('qemu-aarch64')) {
      console.log(
        `neon: skipped, as ${CROSS}g++ or qemu-aarch64 was not found (Debian: g++-aarch64-linux-gnu qemu-user)`,
      )
      return
    }
    const compilers = [
      `-DCMAKE_CXX_COMPILER=${CROSS}g++`,
      '-DCMAKE_SYSTEM_NAME=Linux',
      '-DCMAKE_SYSTEM_PROCESSOR=aarch64',
    ]
    const folder = build('neon', 'native_test', ['-DCUDNN_RNN_ADDON=OFF', ...compilers])
    run('qemu-aarch64', ['-L', '/usr/aarch64-linux-gnu', join(folder, 'native_test')])
  },
}

const named = process.argv.slice(2)
for (const [name, test] of Object.entries(tests)) {
  if (named.length > 0 && !named.includes(name)) continue
  console.log(`== ${name}`)
  test()
}
