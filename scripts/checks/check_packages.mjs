// `pnpm packages`: the packages to publish have the license and correct entry points and types (publint, Are the types wrong?), and
// their declarations compile without the types of Node.js or of the DOM, and declare the values that its modules have. Then the
// checks of an installation, of its size, and of bundles.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { declaredValueErrors } from './declared_values.mjs'
import { pack } from '../build/packed_packages.mjs'
import { platformPackages } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { publicPackages, readJson } from '../workspace.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))

let failures = 0
const declarations = []
const entries = []
/** TensorFlow.js's own declarations need the DOM's, and have errors. */
const WITH_FOREIGN_TYPES = '@cudnn-rnn/tfjs'
const layers = readJson(join(root, 'scripts/layers.json'))
const published = publicPackages(root, layers)
/** Declarations of internal entries may use the types of Node.js: the project's packages have them. */
const isInternal = (name, file) => layers.internal.includes(`${name}/${file.split('.')[0]}`)

function fail(packageName, text) {
  failures++
  console.error(`${packageName}:\n${text}`)
}

const tarballs = mkdtempSync(join(tmpdir(), 'cudnn-rnn-pack-'))
try {
  const names = [...published.map(({ packageName }) => packageName), ...platformPackages().map(({ name }) => name)]
  pack(root, names, tarballs)
  for (const tarball of readdirSync(tarballs)) {
    const listed = spawnSync('tar', ['-tzf', tarball], { cwd: tarballs, encoding: 'utf8' }).stdout.split('\n')
    if (!listed.some((name) => name.trim() === 'package/LICENSE')) fail(tarball, 'has no LICENSE')
  }
  for (const { name, packageName, folder, manifest } of published) {
    const tarball = join(tarballs, `${packageName.slice(1).replace('/', '-')}-${manifest.version}.tgz`)
    const bytes = Uint8Array.from(readFileSync(tarball))
    const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
    const errors = messages.filter(({ type }) => type === 'error')
    if (errors.length > 0) fail(packageName, errors.map((message) => formatMessage(message, pkg)).join('\n'))
    // A package of commands alone has no types to be wrong.
    if (manifest.types === undefined) continue
    for (const { import: esm, require: cjs } of Object.values(manifest.exports))
      for (const entry of [esm, cjs])
        if (entry) entries.push({ types: join(folder, entry.types), module: join(folder, entry.default) })
    const output = join(folder, 'dist')
    if (packageName !== WITH_FOREIGN_TYPES)
      declarations.push(
        ...readdirSync(output)
          .filter((file) => /\.d\.c?ts$/.test(file) && !isInternal(name, file))
          .map((file) => join(output, file)),
      )
    // Files of WebAssembly are served, not imported.
    const excludeEntrypoints = Object.keys(manifest.exports).filter((entry) => entry.endsWith('.wasm'))
    const { types, problems } = await checkPackage(createPackageFromTarballData(bytes), { excludeEntrypoints })
    if (types === false) fail(packageName, 'has no types')
    // The resolution of Node.js 10 has no subpaths; no runtime of this code uses it.
    const wrong = (problems ?? []).filter(
      ({ resolutionKind, resolutionOption = resolutionKind }) => resolutionOption !== 'node10',
    )
    if (wrong.length > 0) fail(packageName, wrong.map((problem) => JSON.stringify(problem)).join('\n'))
  }
} finally {
  rmSync(tarballs, { recursive: true })
}

const project = mkdtempSync(join(tmpdir(), 'cudnn-rnn-types-'))
try {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, types: [], lib: ['es2022'] },
    ...{ target: 'es2022', module: 'nodenext' },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: declarations }))
  const { status, stdout } = spawnSync('tsc', ['--project', project], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status !== 0) {
    failures++
    console.error(`Declarations without types of Node.js or the DOM:\n${stdout}`)
  }
} finally {
  rmSync(project, { recursive: true })
}

const valueErrors = await declaredValueErrors(root, entries)
if (valueErrors.length > 0) fail('Declared values', valueErrors.join('\n'))
console.log(`Packages: ${published.length} checked, ${failures} failures`)
if (failures > 0) process.exit(1)

// In this process, as these pack and install the packages once.
await import('./check_install.mjs')
await import('./measure_install.mjs')
await import('./check_bundles.mjs')
