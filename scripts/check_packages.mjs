// `pnpm packages`: the packages to publish have correct entry points and types (publint, Are the types wrong?), and its
// declarations compile without the types of Node.js or of the DOM.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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

/** pnpm packs, as it publishes: it replaces exports that only the workspace has. */
function checkTypes(folder) {
  const packed = mkdtempSync(join(tmpdir(), 'cudnn-rnn-pack-'))
  try {
    const { status, ...output } = run('pnpm', ['pack', '--pack-destination', packed], folder)
    if (status !== 0) return { status, ...output }
    return run('attw', [join(packed, readdirSync(packed)[0]), '--no-emoji', '--profile', 'node16'], folder)
  } finally {
    rmSync(packed, { recursive: true })
  }
}

let failures = 0
let checked = 0
const declarations = []
/** TensorFlow.js's own declarations need those of the DOM, and have errors. */
const WITH_FOREIGN_TYPES = '@cudnn-rnn/tfjs'
for (const { packageName, folder, manifest } of workspacePackages(root, readJson(join(root, 'scripts/layers.json')))) {
  if (manifest.private) continue
  checked++
  const checks = [run('publint', ['--strict'], folder)]
  // A package of commands alone has no types to be wrong.
  // The resolution of Node.js 10 has no subpaths; no runtime of this code uses it.
  if (manifest.types !== undefined) {
    const output = join(folder, 'dist')
    if (packageName !== WITH_FOREIGN_TYPES)
      declarations.push(...readdirSync(output).flatMap((name) => (/\.d\.c?ts$/.test(name) ? [join(output, name)] : [])))
    checks.push(checkTypes(folder))
  }
  for (const { status, stdout, stderr } of checks) {
    if (status === 0) continue
    failures++
    console.error(`${packageName}:\n${stdout}${stderr}`)
  }
}

const project = mkdtempSync(join(tmpdir(), 'cudnn-rnn-types-'))
try {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, types: [], lib: ['es2022'] },
    ...{ target: 'es2022', module: 'nodenext' },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: declarations }))
  const { status, stdout } = run('tsc', ['--project', project], root)
  if (status !== 0) {
    failures++
    console.error(`Declarations without types of Node.js or the DOM:\n${stdout}`)
  }
} finally {
  rmSync(project, { recursive: true })
}
console.log(`Packages: ${checked} checked, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
