// The workspace as data: its packages, their manifests and source files. Shared by the checks of this folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'

const require = createRequire(import.meta.url)

/** Every package: { name, folder, manifest, references }. `name` is the layer's name in layers.json. */
export function workspacePackages(root, { scope, folders }) {
  return Object.entries(folders).flatMap(([folder, { prefix }]) => {
    if (!existsSync(join(root, folder))) return []
    return readdirSync(join(root, folder))
      .filter((entry) => existsSync(join(root, folder, entry, 'package.json')))
      .map((entry) => {
        const path = join(root, folder, entry)
        const tsconfig = join(path, 'tsconfig.json')
        const name = layerName(prefix, entry)
        return {
          name,
          folder: path,
          packageName: `${scope}${name}`,
          manifest: readJson(join(path, 'package.json')),
          references: existsSync(tsconfig)
            ? (readJson(tsconfig).references ?? []).map(({ path: to }) => layerAt(resolve(path, to), folders))
            : [],
        }
      })
  })
}

/** The published packages. */
export function publicPackages(root, layers) {
  return workspacePackages(root, layers).filter(({ manifest }) => manifest.private !== true)
}

/** The entries of a package's `exports` that are public names: the internal ones of layers.json are for the project's packages. */
export function publicExports({ name, manifest: { exports = {} } }, { internal = [] }) {
  return Object.entries(exports).filter(([entry]) => !internal.includes(`${name}${entry.slice(1)}`))
}

/** The source of an entry of `exports` in the package at `folder`: a file of its name, or the index of a folder. */
export function sourceOf(folder, entry) {
  const name = entry === '.' ? 'index' : entry.slice(2)
  return [`src/${name}.ts`, `src/${name}/index.ts`].map((path) => join(folder, path)).find(existsSync)
}

/** The test files of a folder, relative to `root`, without `left`: vitest's --exclude does not reach projects. */
export function testFilesExcept(root, folder, left) {
  const files = readdirSync(join(root, folder)).filter((name) => name.endsWith('.test.ts') && !left.includes(name))
  return files.map((name) => `${folder}/${name}`)
}

/** The layer's name of the package at `path`: native/cpu and packages/cpu are two layers. */
function layerAt(path, folders) {
  return layerName(folders[basename(dirname(path))]?.prefix ?? '', basename(path))
}

/** Folders are snake_case, names of packages have hyphens: native/cuda_emulator is native-cuda-emulator. */
const layerName = (prefix, folder) => `${prefix}${folder.replaceAll('_', '-')}`

/** Source files below `folder`, as paths with forward slashes relative to `root`. */
export function filesBelow(root, folder, pattern = /\.(m?tsx?|mjs|cc|cu|h)$/) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', 'dist', '.tsc', 'build', 'prebuilds'].includes(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesBelow(root, path, pattern)
    return pattern.test(entry.name) ? [relative(root, path).split(sep).join('/')] : []
  })
}

/** The imports of a TypeScript or JavaScript file: static, re-exported, dynamic, required and type-only. */
export function importsOf(source) {
  // Loaded at its first use: programs of tests import this module for its paths alone, and the compiler takes half a second.
  const ts = require('typescript')
  return ts.preProcessFile(source, true, true).importedFiles.map(({ fileName }) => fileName)
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
