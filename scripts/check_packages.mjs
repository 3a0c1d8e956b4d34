// `pnpm packages`: what would be published has correct entry points and types (publint, Are the types wrong?).
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson, workspacePackages } from './workspace.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = (command, args, cwd) =>
  spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    env: { ...process.env, NO_COLOR: '1' },
  })

let failures = 0
let checked = 0
for (const { packageName, folder, manifest } of workspacePackages(root, readJson(join(root, 'scripts/layers.json')))) {
  if (manifest.private) continue
  checked++
  const checks = [run('publint', ['--strict'], folder)]
  // A package of commands alone has no types to be wrong.
  // The resolution of Node.js 10 knows no subpaths; nothing that runs this code resolves so.
  if (manifest.types !== undefined) {
    checks.push(run('attw', ['--pack', '.', '--no-emoji', '--profile', 'node16'], folder))
  }
  for (const { status, stdout, stderr } of checks) {
    if (status === 0) continue
    failures++
    console.error(`${packageName}:\n${stdout}${stderr}`)
  }
}
console.log(`Packages: ${checked} checked, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
