// docs/errors.md is the one table of error codes: meaning, remedy and the package that throws. This script makes the type
// ErrorCode of it, and checks that the sources use every code, and no other:
//   node scripts/checks/error_codes.mjs [--write]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { filesBelow, readJson, workspacePackages } from '../workspace.mjs'

const PAGE = 'docs/errors.md'
const TYPE = 'packages/canonical/src/rules/error_code.ts'

/** Codes of Node.js that are compared with, never thrown. */
const OF_NODE = new Set([
  'ERR_ACCESS_DENIED',
  'ERR_ENCODING_INVALID_ENCODED_DATA',
  'ERR_INVALID_URL',
  'ERR_MODULE_NOT_FOUND',
  'ERR_REQUIRE_ESM',
  'ERR_PARSE_ARGS_UNKNOWN_OPTION',
])

/** The rows of the page: `{ code, meaning, remedy, packageName }`. */
export function errorRows(root) {
  const rows = []
  let packageName
  for (const line of readFileSync(join(root, PAGE), 'utf8').split('\n')) {
    const [, heading] = /^## (.+)$/.exec(line) ?? []
    packageName = heading ?? packageName
    const [, code, meaning, remedy] = /^\| `(ERR_[A-Z0-9_]+)` \| (.*?) \| (.*) \|$/.exec(line) ?? []
    if (code !== undefined) rows.push({ code, meaning, remedy, packageName })
  }
  return rows
}

/** Defects of the page, the sources or the type, as sentences; with `write` the type is written. */
export function checkErrorCodes(root, write = false) {
  const failures = []
  const rows = errorRows(root)
  const known = new Set(rows.map(({ code }) => code))
  if (known.size < rows.length) failures.push(`${PAGE} has a code twice`)
  for (const { code, meaning, remedy } of rows) {
    if (!meaning.trim() || !remedy.trim()) failures.push(`${PAGE}: ${code} must have a meaning and a remedy`)
  }
  const used = new Set()
  for (const file of sourcesOf(root)) {
    for (const [, code] of readFileSync(join(root, file), 'utf8').matchAll(/['"`](ERR_[A-Z0-9_]+)['"`]/g)) {
      const isPrefix = !known.has(code) && [...known].some((other) => other.startsWith(`${code}_`))
      if (OF_NODE.has(code) || isPrefix) continue
      used.add(code)
      if (!known.has(code)) failures.push(`${file}: ${code} is not in ${PAGE}: add its meaning and remedy`)
    }
  }
  for (const code of known) if (!used.has(code)) failures.push(`${PAGE}: ${code} is used nowhere`)
  const union = [...known].sort().map((code) => `  | '${code}'\n`)
  const type = `/** The code of any error that the library throws: docs/errors.md has their meanings and makes this file. */\nexport type ErrorCode =\n${union.join('')}`
  if (write) writeFileSync(join(root, TYPE), type)
  else if (readFileSync(join(root, TYPE), 'utf8') !== type) {
    failures.push(`${TYPE} differs from ${PAGE}: node scripts/checks/error_codes.mjs --write`)
  }
  return { failures: [...new Set(failures)], count: known.size }
}

function sourcesOf(root) {
  const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))
  const ofPackages = packages
    .flatMap(({ folder }) => filesBelow(root, join(folder, 'src'), /\.(ts|cc|h)$/))
    .filter((file) => !file.replaceAll('\\', '/').endsWith(TYPE))
  // Written into every package by the build.
  return [...ofPackages, 'scripts/build/optional_builtins.ts']
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
  const { failures, count } = checkErrorCodes(root, process.argv.includes('--write'))
  for (const failure of failures) console.error(failure)
  console.log(`Error codes: ${count}, ${failures.length} failures`)
  process.exitCode = failures.length === 0 ? 0 : 1
}
