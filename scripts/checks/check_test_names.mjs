// Each source file with behavior has a test of its name, or a row of the table "Tests" in its package's README, which names
// the suite that tests it: node scripts/checks/check_test_names.mjs
//
// The first column of the table holds patterns of files below src/, in which * stands for any characters but a slash.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { filesBelow, readJson, workspacePackages } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))

/** Private packages whose sources are tests. */
const TEST_PACKAGES = /[\\/](conformance|differential|fuzzing|gpu_validation|cuda_emulator|site)$/

/** Whether a file declares a function or a class: types, constants and re-exports have no behavior. */
function hasBehavior(file) {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest)
  const declares = (node) =>
    ts.isFunctionLike(node) && node.body !== undefined ? true : (ts.forEachChild(node, declares) ?? false)
  return declares(source)
}

const quoted = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text)

/** Patterns of files and names of suites, in the two columns of the table below the heading "Tests". */
function testsTable(readme) {
  const section = /^## Tests$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(readme)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| (`[^|]*) \| ([^|]+) \|$/gm)]
  return {
    patterns: rows.flatMap(([, files]) => quoted(files)),
    suites: rows.flatMap(([, , suites]) => quoted(suites)),
  }
}

const matches = (pattern, path) =>
  new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`).test(path)

const testName = (file) => basename(file).replace(/(\.(node|browser))?\.test\.(mts|tsx?)$/, '')
const testsOf = ({ folder }) =>
  ['test', 'fuzz'].flatMap((each) => filesBelow(root, join(folder, each), /\.test\.(mts|tsx?)$/))

/** Everything that a table may name: tests, packages, commands. */
const suitesThatExist = new Set([
  ...packages.flatMap((each) => testsOf(each).map(testName)),
  ...packages.map(({ folder }) => folder.slice(root.length + 1).replaceAll('\\', '/')),
  ...Object.keys(readJson(join(root, 'package.json')).scripts).map((name) => `npm run ${name}`),
])

let named = 0
let total = 0
const failures = []
for (const { packageName, folder } of packages) {
  if (TEST_PACKAGES.test(folder)) continue
  const names = new Set(testsOf({ folder }).map(testName))
  const readme = join(folder, 'README.md')
  const { patterns, suites } = testsTable(existsSync(readme) ? readFileSync(readme, 'utf8') : '')
  for (const suite of suites) {
    if (!suitesThatExist.has(suite))
      failures.push(`${packageName}: the table "Tests" names ${suite}, which does not exist`)
  }
  const used = new Set()
  const base = `${join(folder, 'src')
    .slice(root.length + 1)
    .replaceAll('\\', '/')}/`
  for (const file of filesBelow(root, join(folder, 'src'), /\.ts$/).filter(hasBehavior)) {
    total++
    if (names.has(basename(file, '.ts'))) {
      named++
      continue
    }
    const path = file.slice(base.length)
    const row = patterns.find((pattern) => matches(pattern, path))
    if (row === undefined)
      failures.push(`${file}: has no test of its name and is not in the table "Tests" of ${packageName}`)
    else used.add(row)
  }
  for (const pattern of patterns) {
    if (!used.has(pattern)) failures.push(`${packageName}: the table "Tests" names ${pattern}, which no file needs`)
  }
}
for (const failure of failures) console.error(failure)
console.log(`Tests: ${named} of ${total} files with behavior have a test of their name, ${failures.length} violations`)
process.exitCode = failures.length === 0 ? 0 : 1
