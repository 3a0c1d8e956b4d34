// The workspace as data: its packages, their manifests and source files. Shared by the checks of this folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import ts from 'typescript'

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

/**
 * The packages whose exports are public names: those that are published, without the internal ones of layers.json, which are
 * published as parts of the others.
 */
export function publicPackages(root, layers) {
  return workspacePackages(root, layers).filter(
    ({ name, manifest }) => manifest.private !== true && !layers.internal?.includes(name),
  )
}

/** The entries of a package's `exports` that are public names: those of `./internal` are for the project's packages. */
export function publicExports({ exports = {} }) {
  return Object.entries(exports).filter(([entry]) => entry !== './internal')
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
  return ts.preProcessFile(source, true, true).importedFiles.map(({ fileName }) => fileName)
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
