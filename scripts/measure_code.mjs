// Prints files, lines, comments and exported names of each package: node scripts/measure_code.mjs
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { median } from './bench/statistics.mjs'
import { filesBelow, readJson, workspacePackages } from './workspace.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))

const SOURCES = /\.(ts|mts|cc|h)$/
const TESTS = /\.(ts|mts|mjs|cc|h)$/
const EMULATOR = /native[\\/]cuda_emulator/

const linesOf = (files) => files.map((file) => readFileSync(join(root, file), 'utf8').trimEnd().split('\n'))
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)

/** Files, lines per file, share of short files, and comment lines per line of code. */
function measured(files) {
  const texts = linesOf(files)
  const sizes = texts.map((lines) => lines.length)
  const all = texts.flat().filter((line) => line.trim() !== '')
  const comments = all.filter((line) => /^\s*(\/\/|\/\*|\*)/.test(line)).length
  const short = sizes.filter((size) => size < 20).length
  return {
    ...{ files: files.length, lines: sum(sizes), median: median(sizes), max: Math.max(0, ...sizes) },
    ...{ 'under 20': `${Math.round((100 * short) / files.length)} %` },
    comments: (comments / (all.length - comments)).toFixed(2),
  }
}

/** Private packages whose sources are tests. */
const TEST_PACKAGES = /[\\/](conformance|differential|fuzzing|gpu_validation|cuda_emulator)$/

/** Non-null assertions, `x!`. */
function assertionsIn(file) {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest)
  let count = 0
  const visit = (node) => {
    if (ts.isNonNullExpression(node)) count++
    ts.forEachChild(node, visit)
  }
  visit(source)
  return count
}

/** Names that the index of a published package exports: values, and types as well. */
function exportedNames(folder, { private: isPrivate }) {
  const file = join(folder, 'src/index.ts')
  const names = { values: [], types: [] }
  if (isPrivate || !existsSync(file)) return names
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  for (const statement of source.statements) {
    const clause = ts.isExportDeclaration(statement) ? statement.exportClause : undefined
    if (clause === undefined || !ts.isNamedExports(clause)) continue
    for (const { isTypeOnly, name } of clause.elements) {
      names[statement.isTypeOnly || isTypeOnly ? 'types' : 'values'].push(name.text)
    }
  }
  return names
}

const rows = {}
let assertions = 0
const products = []
// The facade exports names of other packages again: the row of the whole counts each once.
const distinct = { values: new Set(), types: new Set() }
let tests = 0
let namesakes = 0
for (const { packageName, folder, manifest } of packages) {
  const own = filesBelow(root, join(folder, 'src'), SOURCES)
  const ownTests = [...filesBelow(root, join(folder, 'test'), TESTS), ...filesBelow(root, join(folder, 'fuzz'), TESTS)]
  const lines = sum(linesOf(ownTests).map(({ length }) => length))
  if (EMULATOR.test(folder)) continue
  tests += lines
  if (own.length === 0) continue
  const measures = measured(own)
  const ownAssertions = sum(own.filter((file) => file.endsWith('ts')).map(assertionsIn))
  assertions += ownAssertions
  if (TEST_PACKAGES.test(folder)) {
    tests += measures.lines
    continue
  }
  const names = new Set(
    ownTests.map((file) => file.replace(/.*[\\/]/, '').replace(/(\.(node|browser))?\.test\.ts$/, '')),
  )
  namesakes += own.filter((file) => names.has(file.replace(/.*[\\/]/, '').replace(/\.ts$/, ''))).length
  const { values, types } = exportedNames(folder, manifest)
  for (const name of values) distinct.values.add(name)
  for (const name of types) distinct.types.add(name)
  rows[packageName] = {
    ...{ ...measures, 'x!': ownAssertions, tests: (lines / measures.lines).toFixed(2) },
    ...(values.length > 0 && { values: values.length, types: types.length }),
  }
  products.push(...own)
}
const whole = measured(products)
rows.whole = {
  ...{ ...whole, tests: (tests / whole.lines).toFixed(2) },
  ...{ values: distinct.values.size, types: distinct.types.size },
}
console.table(rows)
console.log(`${assertions} non-null assertions, those of private test packages included`)
console.log(`${namesakes} of ${products.length} source files have a test of their name`)
