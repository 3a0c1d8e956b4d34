// The rules behind `pnpm layers`. Each takes the workspace and returns its violations as sentences.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { cycles } from './graph_cycles.mjs'
import { includeViolations } from './include_rules.mjs'
import { filesBelow, importsOf, workspacePackages } from '../workspace.mjs'

const FORBIDDEN_NAMES = /(?:^|\/)(utils?|helpers?|common|misc)[./]/

/** All violations of `layers` (the content of layers.json) in the workspace at `root`. */
export function layerViolations(root, layers) {
  const packages = workspacePackages(root, layers)
  return [
    ...packages.flatMap((each) => knownLayer(each, layers)),
    ...packages.flatMap((each) => manifestRules(each, layers)),
    ...packages.flatMap((each) => publishedRules(each, packages, layers)),
    ...packages.flatMap((each) => referenceRules(each, packages, layers)),
    ...packages.flatMap((each) => importRules(root, each, packages, layers)),
    ...packages.flatMap((each) => fileNameRules(root, each)),
    ...packages.flatMap((each) => fileCycles(root, each)),
    ...internalRules(packages, layers),
    ...layerCycles(layers),
    ...includeViolations(root, layers.includeOrder ?? {}),
  ]
}

function knownLayer({ name }, { mayImport }) {
  return name in mayImport ? [] : [`${name}: is not in layers.json`]
}

/** `canonical/rules` is a part of canonical: the folder src/rules, with a row and an entry. */
const packageOf = (layer) => layer.split('/')[0]

/** The packages that `rows` give to the package `name` and to its parts. */
function allowedPackages(rows, name) {
  const own = Object.keys(rows).filter((layer) => packageOf(layer) === name)
  return own.flatMap((layer) => rows[layer].map(packageOf)).filter((to) => to !== name)
}

/** The layer of the file at `path` in the package `name`. */
function layerOf(path, name, { mayImport }) {
  const part = `${name}/${path.split('/')[1]}`
  return part in mayImport ? part : name
}

/** Dependencies of ours that a manifest declares. */
function declared(manifest, { scope }, kinds) {
  return kinds
    .flatMap((kind) => Object.keys(manifest[kind] ?? {}))
    .filter((name) => name.startsWith(scope))
    .map((name) => name.slice(scope.length))
}

const RUNTIME = ['dependencies', 'peerDependencies', 'optionalDependencies']

/** native-cpu-linux-x64-gnu if native-cpu is allowed: loaded by a name that is put together at run time. */
function isPlatformPackage(dependency, allowed) {
  return allowed.some((layer) => dependency.startsWith(`${layer}-`))
}

/** A published package exports nothing from its test folders and depends on no private package. */
function publishedRules({ name, manifest }, packages, layers) {
  if (manifest.private) return []
  const isPrivate = (layer) => packages.find((each) => each.name === layer)?.manifest.private
  return [
    ...JSON.stringify(manifest.exports ?? {})
      .split('"')
      .filter((target) => /^\.\/(test|bench|fuzz)\//.test(target))
      .map((target) => `${name}: package.json exports ${target}, a file of its tests`),
    ...declared(manifest, layers, RUNTIME)
      .filter(isPrivate)
      .map((layer) => `${name}: is published and depends on ${layer}, which is private`),
  ]
}

/** Only published packages have entries that `internal` takes from their public side. */
function internalRules(packages, { internal = [] }) {
  const entries = packages
    .filter(({ manifest }) => !manifest.private)
    .flatMap(({ name, manifest }) => Object.keys(manifest.exports ?? {}).map((entry) => `${name}${entry.slice(1)}`))
  return internal
    .filter((layer) => !entries.includes(layer))
    .map((layer) => `layers.json: ${layer} is internal, which no published package exports`)
}

function manifestRules({ name, manifest }, layers) {
  const allowed = allowedPackages(layers.mayImport, name)
  const inTests = allowedPackages(layers.testsMayAlsoImport, name)
  return [
    ...declared(manifest, layers, RUNTIME)
      .filter((dependency) => !allowed.includes(dependency) && !isPlatformPackage(dependency, allowed))
      .map((dependency) => `${name}: package.json depends on ${dependency}, which layers.json does not allow`),
    ...declared(manifest, layers, ['devDependencies'])
      .filter((dependency) => ![...allowed, ...inTests].includes(dependency))
      .map((dependency) => `${name}: package.json has ${dependency} for development, which layers.json does not allow`),
  ]
}

/** tsconfig references are exactly the TypeScript packages of ours that the manifest declares. */
function referenceRules({ name, manifest, references }, packages, layers) {
  const expected = declared(manifest, layers, [...RUNTIME, 'devDependencies']).filter((layer) =>
    packages.some((each) => each.name === layer && existsSync(join(each.folder, 'tsconfig.json'))),
  )
  return [
    ...expected
      .filter((layer) => !references.includes(layer))
      .map((layer) => `${name}: tsconfig.json does not reference ${layer}, which package.json declares`),
    ...references
      .filter((layer) => !expected.includes(layer))
      .map((layer) => `${name}: tsconfig.json references ${layer}, which package.json does not declare`),
  ]
}

function importRules(root, { name, folder, manifest, packageName }, packages, layers) {
  const entryPoints = (layer) => Object.keys(packages.find((each) => each.name === layer)?.manifest.exports ?? {})
  const violations = []
  const allowed = allowedPackages(layers.mayImport, name)
  const used = new Set()
  const usedInSource = new Set()
  // A private package that the layers allow becomes part of the build: a dependency for development alone.
  const isPrivate = (layer) => packages.find((each) => each.name === layer)?.manifest.private
  const bundled = declared(manifest, layers, ['devDependencies']).filter((layer) => {
    return isPrivate(layer) && allowed.includes(layer)
  })
  const inSource = new Set([...declared(manifest, layers, RUNTIME), ...bundled])
  const anywhere = new Set([...inSource, ...declared(manifest, layers, ['devDependencies'])])
  for (const file of packageFiles(root, folder, /\.(m?tsx?|mjs)$/)) {
    const path = posix.relative(folderPath(root, folder), file)
    const isSource = /^(src|lib)\//.test(path)
    const from = layerOf(path, name, layers)
    for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
      if (leavesPackage(root, folder, file, specifier)) {
        violations.push(`${file}: imports ${specifier}, a file of another package`)
      } else if (
        isSource &&
        specifier.startsWith('.') &&
        layerOf(posix.join(dirname(path), specifier), name, layers) !== from
      ) {
        violations.push(`${file}: imports ${specifier}, a file of another part of ${name}`)
      }
      if (!specifier.startsWith(layers.scope)) continue
      const [layer, ...deeper] = specifier.slice(layers.scope.length).split('/')
      if (deeper.length > 0 && !entryPoints(layer).includes(`./${deeper.join('/')}`)) {
        violations.push(`${file}: imports ${specifier}, past the entry point of ${layer}`)
      }
      const to = specifier.slice(layers.scope.length)
      const target = to in layers.mayImport ? to : layer
      if (isSource && from in layers.mayImport && !layers.mayImport[from].includes(target)) {
        violations.push(`${file}: imports ${specifier}, which layers.json does not allow to ${from}`)
      }
      if (`${layers.scope}${layer}` === packageName) continue
      used.add(layer)
      if (isSource) usedInSource.add(layer)
      if (!(isSource ? inSource : anywhere).has(layer)) {
        violations.push(`${file}: imports ${specifier}, which package.json does not declare`)
      }
    }
  }
  for (const layer of anywhere) {
    if (!used.has(layer) && layer in layers.mayImport) {
      violations.push(`${name}: package.json declares ${layer}, which nothing imports`)
    } else if (inSource.has(layer) && !usedInSource.has(layer) && !isPlatformPackage(layer, allowed)) {
      violations.push(`${name}: package.json depends on ${layer}, which only its tests import`)
    }
  }
  return violations
}

/** Relative imports may leave the package for fixtures and the shared configuration of scripts only. */
function leavesPackage(root, folder, file, specifier) {
  if (!specifier.startsWith('.')) return false
  const target = join(root, dirname(file), specifier)
  const isInside = (place) => !relative(place, target).split(sep).includes('..')
  return ![folder, join(root, 'fixtures'), join(root, 'scripts')].some(isInside)
}

/** The files of one package, without packages inside its folder. */
function packageFiles(root, folder, pattern) {
  return filesBelow(root, folder, pattern).filter((file) => {
    for (let place = dirname(join(root, file)); place !== folder; place = dirname(place)) {
      if (existsSync(join(place, 'package.json'))) return false
    }
    return true
  })
}

/** `folder` as the paths of filesBelow are written: relative to `root`, with forward slashes. */
function folderPath(root, folder) {
  return relative(root, folder).split(sep).join('/')
}

function fileNameRules(root, { folder }) {
  return packageFiles(root, folder).flatMap((file) => {
    const base = posix.basename(file)
    if (FORBIDDEN_NAMES.test(file)) return [`${file}: name the concept instead of "utils" or the like`]
    if (!/^[a-z0-9_]+(\.[a-z-]+)*\.(m?tsx?|mjs|cc|cu|h)$/.test(base)) {
      return [`${file}: file names are snake_case`]
    }
    return []
  })
}

/** Cycles between the TypeScript files of one package. Type-only imports count. */
function fileCycles(root, { folder }) {
  const files = packageFiles(root, folder, /\.tsx?$/)
  const graph = new Map(
    files.map((file) => [
      file,
      importsOf(readFileSync(join(root, file), 'utf8'))
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => posix.join(posix.dirname(file), specifier.replace(/\.js$/, '')))
        .flatMap((stem) => [`${stem}.ts`, `${stem}.tsx`])
        .filter((target) => files.includes(target)),
    ]),
  )
  return cycles(graph).map((cycle) => `import cycle: ${cycle.join(' -> ')}`)
}

function layerCycles({ mayImport }) {
  return cycles(new Map(Object.entries(mayImport))).map((cycle) => `layer cycle: ${cycle.join(' -> ')}`)
}
