// Prints the disk space of an installation and the JavaScript and time of an import, beside onnxruntime-node's; fails
// if a package is larger than its limit, or loads more than its limit. Times are of this machine and are printed only.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { packPackages } from '../build/packed_packages.mjs'
import { median } from '../bench/statistics.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { readJson } from '../workspace.mjs'

ownTemporaryFolder()

const MEGABYTE = 1e6
const IMPORTS = 5

/** Packages, the megabytes that they may take, and the megabytes of JavaScript that an import of them may load. */
const MEASURED = [
  { name: '@cudnn-rnn/rnn', limit: 14, loadLimit: 1.1 },
  { name: '@cudnn-rnn/cpu', limit: 4, loadLimit: 0.3 },
  { name: '@cudnn-rnn/wasm', limit: 3, loadLimit: 0.3 },
  { name: '@cudnn-rnn/cli', limit: 25 },
]

/** Bytes of the files below a folder, links not followed, and the number of packages that are among them. */
function sizeOf(folder) {
  let [bytes, packages] = [0, 0]
  for (const { name, parentPath } of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const stats = lstatSync(join(parentPath, name))
    if (!stats.isFile()) continue
    bytes += stats.size
    if (name === 'package.json' && /node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+$/.test(parentPath)) packages++
  }
  return { bytes, packages }
}

/** The median milliseconds of importing `specifier` in new processes of `folder`. */
function importTime(specifier, folder) {
  const program = `const began = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - began)`
  // A cache of compiled code would shorten the imports that are timed.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined }
  const options = { cwd: folder, encoding: 'utf8', env }
  const measure = () => Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], options))
  return median(Array.from({ length: IMPORTS }, measure))
}

/** Bytes of the modules that an import of `specifier` loads. The time follows from them, and they are the same on every machine. */
function loadedBytes(specifier, folder) {
  const hooks = `import { writeSync } from 'node:fs'
    export async function load(url, context, next) {
      const module = await next(url, context)
      if (module.source) writeSync(1, module.source.length + ' ')
      return module
    }`
  const program = `import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}))
    await import(${JSON.stringify(specifier)})`
  const sizes = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  return sizes.split(' ').reduce((sum, size) => sum + Number(size), 0)
}

/** onnxruntime-node and all that it depends on, as they are installed in this repository. */
function onnxRuntime() {
  const interop = fileURLToPath(new URL('../../packages/interop/', import.meta.url))
  const entry = createRequire(join(interop, 'package.json')).resolve('onnxruntime-node')
  const folders = new Set()
  const collect = (folder) => {
    if (folders.has(folder)) return
    folders.add(folder)
    for (const name of Object.keys(readJson(join(folder, 'package.json')).dependencies ?? {})) {
      let modules = folder
      while (!existsSync(join(modules, 'node_modules', name))) modules = dirname(modules)
      collect(realpathSync(join(modules, 'node_modules', name)))
    }
  }
  collect(realpathSync(join(interop, 'node_modules/onnxruntime-node')))
  const bytes = [...folders].reduce((sum, folder) => sum + sizeOf(folder).bytes, 0)
  return { bytes, packages: folders.size, milliseconds: importTime(pathToFileURL(entry).href, interop) }
}

const rows = []
let failures = 0
const packed = await packPackages()
for (const { name, limit, loadLimit } of MEASURED) {
  const folder = await packed.install([name])
  const { bytes, packages } = sizeOf(join(folder, 'node_modules'))
  const row = { name, bytes, packages, limit }
  if (bytes > limit * MEGABYTE) failures++
  if (loadLimit !== undefined) {
    row.loaded = loadedBytes(name, folder)
    row.milliseconds = importTime(name, folder)
    if (row.loaded > loadLimit * MEGABYTE) failures++
  }
  rows.push(row)
}
rows.push({ name: 'onnxruntime-node', ...onnxRuntime() })

const megabytes = (bytes) => (bytes === undefined ? '–' : (bytes / MEGABYTE).toFixed(1))
console.log(`${'installed'.padEnd(18)}  packages      MB   limit  MB loaded  import (median of ${IMPORTS})`)
for (const { name, packages, bytes, limit = '', loaded, milliseconds } of rows) {
  const time = milliseconds === undefined ? '–' : `${milliseconds.toFixed(0)} ms`
  const columns = [String(packages).padStart(8), megabytes(bytes).padStart(6), String(limit).padStart(6)]
  console.log(`${name.padEnd(18)}  ${[...columns, megabytes(loaded).padStart(9), time.padStart(6)].join('  ')}`)
}
console.log(
  `Install sizes: ${MEASURED.flatMap(({ loadLimit }) => loadLimit ?? []).length + MEASURED.length} checks, ${failures} failures`,
)
if (failures > 0) process.exitCode = 1
