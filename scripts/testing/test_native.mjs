// Tests the C++ of native/ under sanitizers, and the NEON kernels under an emulator if there is a cross compiler:
//   node scripts/testing/test_native.mjs [--every-kernel] [neon | thread | address | mpi | cudnn | suite]…    (all when none is named)
// neon: the C++ tests, cross-compiled, under qemu-user, and the kernels that are chosen on older processors; unless --every-kernel is
// given, on NEON's kernels alone, which are compiled with less optimization. thread: tests of several threads under ThreadSanitizer, with the portable kernels alone unless --every-kernel is given, since instrumented
// kernels take minutes to compile and all share the passes that split the work; --every-kernel also runs the tests of one thread.
// address: the C++ tests under AddressSanitizer with UBSan; unless --every-kernel is given, without AVX-512's kernels and with portable
// ones that are not sanitized, since all are the same templates as AVX2's, without checks of null and alignment, and with a trap in
// place of UBSan's message: its signal names the test, and --every-kernel the line. mpi, cudnn: the tests of native/mpi and native/cudnn
// under the same, without an MPI and without CUDA. suite: the vitest project of packages/cpu under the same, on each instruction set that was built.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { testFilesExcept } from '../workspace.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const CROSS = 'aarch64-linux-gnu-'
const everyKernel = process.argv.includes('--every-kernel')
/** Messages of UBSan are a sixth of the compiler's time, and more than half of the objects. */
const TRAPS = '-fsanitize-undefined-trap-on-error'

function run(command, args, env = {}) {
  const { status, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) throw new Error(`${command} ended with ${signal ?? `status ${status}`}`)
}

const finds = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0

/** Whether the C++ tests can be built; prints a message if they cannot. */
function hasDoctest() {
  if (
    spawnSync('g++', ['-E', '-x', 'c++', '-include', 'doctest/doctest.h', '/dev/null'], { stdio: 'ignore' }).status ===
    0
  )
    return true
  console.log('skipped, as doctest/doctest.h was not found (Debian: doctest-dev)')
  return false
}

/** Configures with plain CMake in build/`name` of `addon` and builds `target` and `others`; returns the path of `file`. */
function build(name, options, target, { addon = 'cpu', file = target, others = [] } = {}) {
  const source = join(root, 'native', addon)
  const folder = join(source, 'build', name)
  const tests = `-DCUDNN_RNN_TESTS=${target === 'native_test' ? 'ON' : 'OFF'}`
  // Line numbers are all that a sanitizer's report needs; full debug information makes the build half as long again. Instrumented
  // code takes long to optimize and gains nothing in these tests: kernels alone have a flag for it.
  const flags = `-O0 -g1 -DNDEBUG ${everyKernel ? '' : TRAPS}`
  const type = ['-DCMAKE_BUILD_TYPE=RelWithDebInfo', `-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${flags}`]
  const base = ['-S', source, '-B', folder, ...type, tests, ...options]
  run('cmake', [...base, '--log-level=WARNING'])
  run('cmake', ['--build', folder, '--target', target, ...others, '--parallel', '2'])
  return join(folder, file)
}

/** The path of a library of the compiler, for LD_PRELOAD: Node.js itself is not built with the sanitizer. */
const library = (name) => spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

// AddressSanitizer reports null pointers and places outside of objects too, and these checks are a third of the compiler's time.
const FEWER_CHECKS = '-fno-sanitize=null,alignment,object-size'

const ASAN = [
  '-DCUDNN_RNN_ADDON=ON',
  '-DCUDNN_RNN_SANITIZE=address,undefined',
  `-DCUDNN_RNN_AVX512=${everyKernel ? 'ON' : 'OFF'}`,
  `-DCUDNN_RNN_SANITIZE_PORTABLE=${everyKernel ? 'ON' : 'OFF'}`,
  `-DCUDNN_RNN_SANITIZE_FLAGS=${everyKernel ? '' : FEWER_CHECKS}`,
]
const UBSAN_OPTIONS = 'halt_on_error=1:print_stacktrace=1'

const tests = {
  neon() {
    if (!finds(`${CROSS}g++`) || !finds('qemu-aarch64')) {
      console.log(
        `neon: skipped, as ${CROSS}g++ or qemu-aarch64 was not found (Debian: g++-aarch64-linux-gnu qemu-user)`,
      )
      return
    }
    if (!hasDoctest()) return
    const compilers = [
      `-DCMAKE_CXX_COMPILER=${CROSS}g++`,
      '-DCMAKE_SYSTEM_NAME=Linux',
      '-DCMAKE_SYSTEM_PROCESSOR=aarch64',
    ]
    // The bindings are the same on every architecture.
    const parts = ['-DCUDNN_RNN_ADDON=OFF', '-DCUDNN_RNN_TESTS_OF_BINDINGS=OFF']
    // The places of weights in memory, that a step allocates nothing, and how a pass is divided among threads are the same for
    // all kernels; the derivatives of a plain loop are the portable kernels', with which the others are compared.
    const same =
      'Network gives every canonical element*,Stepper allocates nothing*,a pass gives the same bits*,a backward is the derivative*'
    const [left, env, optimization] = everyKernel
      ? [[], {}, '-O3']
      : [[`--test-case-exclude=${same}`], { CUDNN_RNN_WITHOUT_PORTABLE_KERNELS: '1' }, '-O1']
    const test = build('neon', [...parts, ...compilers, `-DCUDNN_RNN_OPTIMIZATION=${optimization}`], 'native_test')
    const runOn = (processor, args, variables) =>
      run('qemu-aarch64', ['-cpu', processor, '-L', '/usr/aarch64-linux-gnu', test, ...args], variables)
    for (const [processor, sets] of [
      ['cortex-a57', ['neon']],
      ['neoverse-n1', ['neon-dotprod', 'neon']],
      ['max', ['neon-i8mm-bf16', 'neon-dotprod', 'neon']],
    ])
      runOn(processor, ['--test-case=SupportedKernels*'], {
        CUDNN_RNN_EXPECTED_KERNELS: [...sets, 'portable'].join(),
      })
    runOn('max', left, env)
  },
  thread() {
    if (!hasDoctest()) return
    const all = everyKernel ? 'ON' : 'OFF'
    const parts = [`-DCUDNN_RNN_VECTOR_KERNELS=${all}`, `-DCUDNN_RNN_TESTS_OF_ONE_THREAD=${all}`]
    const test = build('tsan', ['-DCUDNN_RNN_ADDON=OFF', '-DCUDNN_RNN_SANITIZE=thread', ...parts], 'native_test')
    // Each of these runs on one thread. The portable kernels alone have none to agree with.
    const left = everyKernel ? 'KernelTable*,activations*' : 'a pass agrees with the portable kernels*'
    run(test, [`--test-case-exclude=${left}`])
  },
  address() {
    if (!hasDoctest()) return
    // The program that measures the stages of docs/cpu_kernels.md exists for AVX2 only; nothing else builds it.
    const others = process.arch === 'x64' ? ['kernel_stages'] : []
    // The suite below compares all passes with the reference, on the same kernels and under the same sanitizers.
    const left = everyKernel ? [] : ['--test-case-exclude=a pass*agrees with the portable kernels*']
    run(build('asan', ASAN, 'native_test', { others }), left, { UBSAN_OPTIONS })
  },
  mpi() {
    if (!hasDoctest()) return
    const options = ['-DCUDNN_RNN_SANITIZE=address,undefined']
    run(build('asan', options, 'native_test', { addon: 'mpi' }), [], { UBSAN_OPTIONS })
  },
  cudnn() {
    if (!hasDoctest()) return
    run(build('asan', ['-DCUDNN_RNN_SANITIZE=ON'], 'native_test', { addon: 'cudnn' }), [], { UBSAN_OPTIONS })
  },
  suite() {
    const addon = build('asan', ASAN, 'cudnn_rnn_cpu', { file: 'cudnn_rnn_cpu.node' })
    // Memory measurements mean nothing under the sanitizer, which quarantines freed blocks.
    const left = ['lifetimes.test.ts', 'result_memory.test.ts']
    const names = testFilesExcept(root, 'packages/cpu/test', left)
    const patient = ['--testTimeout', '600000']
    run(join(root, 'node_modules/.bin/vitest'), ['run', '--project', 'cpu', ...names, ...patient], {
      CUDNN_RNN_CPU_ADDON: addon,
      // Every pair of attributes on each instruction set; the nightly workflow runs the whole suite, with every kernel.
      ...(everyKernel ? {} : { CUDNN_RNN_TESTS: 'covering' }),
      LD_PRELOAD: ['libasan.so', 'libubsan.so', 'libstdc++.so'].map(library).join(' '),
      // Node.js itself leaks at exit; a test requests more memory than there is.
      ASAN_OPTIONS: 'detect_leaks=0:allocator_may_return_null=1',
      UBSAN_OPTIONS,
    })
  },
}

const named = process.argv.slice(2).filter((argument) => argument !== '--every-kernel')
const unknown = named.filter((name) => !(name in tests))
if (unknown.length > 0)
  throw new Error(`Cannot test ${unknown.join(', ')} as there are ${Object.keys(tests).join(', ')}`)
for (const [name, test] of Object.entries(tests)) {
  if (named.length > 0 && !named.includes(name)) continue
  console.log(`== ${name}`)
  test()
}
