// Checks that pnpm-lock.yaml has every per-platform package that the installed packages require. A registry that lacks
// some of them lets pnpm leave them out silently, and then `install --frozen-lockfile` breaks on the platforms left out.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const lock = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8')
const packages = lock.slice(lock.indexOf('\npackages:'), lock.indexOf('\nsnapshots:'))
const locked = new Set(
  [...packages.matchAll(/^ {2}'?((?:@[^/\s']+\/)?[^@\s'(]+)@[^\s'(:]+/gm)].map((match) => match[1]),
)

let asked = 0
let gaps = 0
const store = join(root, 'node_modules/.pnpm')
for (const entry of readdirSync(store)) {
  // "@scope+name@1.0.0_peers" holds node_modules/@scope/name.
  const name = /^(@?[^@]+)@/.exec(entry)?.[1]?.replace('+', '/')
  const manifest = join(store, entry, 'node_modules', name ?? '', 'package.json')
  // pnpm keeps packages of earlier installations for a week.
  if (name === undefined || !locked.has(name) || !existsSync(manifest)) continue
  const missing = Object.keys(readJson(manifest).optionalDependencies ?? {}).filter(
    (dependency) => !locked.has(dependency),
  )
  asked++
  if (missing.length === 0) continue
  gaps++
  console.error(`${name}: the lockfile lacks ${missing.join(', ')}`)
}
console.log(`Lockfile: ${asked} installed packages, ${gaps} with gaps`)
process.exitCode = gaps === 0 ? 0 : 1
