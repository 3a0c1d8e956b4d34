// Proves that pnpm-lock.yaml holds every per-platform package its packages ask for. A registry that lacks some of them
// lets pnpm leave them out silently, and then `install --frozen-lockfile` breaks on the platforms left out.
// Run after every change of dependencies: node scripts/check_lock_platforms.mjs
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const lock = readFileSync(new URL('../pnpm-lock.yaml', import.meta.url), 'utf8')
const [, snapshots] = lock.split('\nsnapshots:')
const packages = lock.slice(lock.indexOf('\npackages:'), lock.indexOf('\nsnapshots:'))
const locked = new Set(
  [...packages.matchAll(/^ {2}'?((?:@[^/\s']+\/)?[^@\s'(]+)@[^\s'(:]+/gm)].map((match) => match[1]),
)

const asked = new Set()
let gaps = 0
for (const [, name, body] of snapshots.matchAll(
  /^ {2}'?((?:@[^/\s']+\/)?[^@\s'(]+@[^\s'(:]+)[^\n]*:\n((?: {4}.*\n)*)/gm,
)) {
  if (!body.includes('optionalDependencies') || asked.has(name)) continue
  asked.add(name)
  const answer = execFileSync('npm', ['view', name, 'optionalDependencies', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const missing = Object.keys(JSON.parse(answer.toString() || '{}')).filter((dependency) => !locked.has(dependency))
  if (missing.length === 0) continue
  gaps++
  console.error(`${name}: the lockfile lacks ${missing.join(', ')}`)
}
console.log(`Lockfile: ${asked.size} packages with per-platform parts, ${gaps} with gaps`)
process.exitCode = gaps === 0 ? 0 : 1
