// The one table of error codes. Each package lists the codes that it defines in src/error_codes.ts, with meaning and
// remedy; this script joins those lists, checks that every code in the sources is in one of them, and that every listed
// code is used, and makes docs/errors.md:
//   node scripts/checks/error_codes.mjs [--write]
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { filesBelow, readJson, workspacePackages } from '../workspace.mjs'

const PAGE = 'docs/errors.md'

/** Codes of Node.js that are compared with, never thrown. */
const OF_NODE = new Set([
  'ERR_ACCESS_DENIED',
  'ERR_ENCODING_INVALID_ENCODED_DATA',
  'ERR_INVALID_URL',
  'ERR_MODULE_NOT_FOUND',
  'ERR_REQUIRE_ESM',
  'ERR_PARSE_ARGS_UNKNOWN_OPTION',
])

const HEAD = `# Errors

Every error that the library throws, and every rejection, has one of these codes in \`code\`. Codes never change; messages may.
Argument mistakes are \`TypeError\` (a value of the wrong kind) and \`RangeError\` (a value that is not allowed), with the
values that the message names as properties. \`hasErrorCode(error, ...codes)\` narrows an unknown error.

This page is made of the tables in each package's \`src/error_codes.ts\` by \`node scripts/checks/error_codes.mjs --write\`.
`

/** The table of every package that has one, in the order of layers.json. */
export async function errorTables(root) {
  const layers = readJson(join(root, 'scripts/layers.json'))
  const packages = workspacePackages(root, layers)
  const order = Object.keys(layers.mayImport)
  const tables = []
  for (const { name, folder, packageName } of packages) {
    for (const path of filesBelow(folder, join(folder, 'src'), /^error_codes\.ts$/)) {
      const { code } = await transform(readFileSync(join(folder, path), 'utf8'), { loader: 'ts', format: 'esm' })
      const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
      // src/rules/error_codes.ts is the table of the part canonical/rules.
      const part = order.find((layer) => layer === `${name}/${path.split('/').at(-2)}`) ?? name
      tables.push({ name: part, packageName: packageName.replace(name, part), codes: module.ERROR_CODES })
    }
  }
  return tables.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}

/** Every known code, with its meaning, remedy and package. */
export async function errorCodes(root) {
  const codes = new Map()
  for (const { packageName, codes: own } of await errorTables(root)) {
    for (const [code, row] of Object.entries(own)) codes.set(code, { ...row, packageName })
  }
  return codes
}

/** Defects of the tables or of the page made from them, as sentences; with `write` the page is written. */
export async function checkErrorCodes(root, write = false) {
  const failures = []
  const tables = await errorTables(root)
  const owners = new Map()
  for (const { name, codes } of tables) {
    for (const [code, { meaning, remedy }] of Object.entries(codes)) {
      if (owners.has(code)) failures.push(`${code} is defined by ${owners.get(code)} and by ${name}`)
      if (!meaning || !remedy) failures.push(`${code} of ${name} must have a meaning and a remedy`)
      owners.set(code, name)
    }
  }
  const used = new Set()
  for (const file of sourcesOf(root)) {
    for (const [, code] of readFileSync(join(root, file), 'utf8').matchAll(/['"`](ERR_[A-Z0-9_]+)['"`]/g)) {
      const isPrefix = !owners.has(code) && [...owners.keys()].some((known) => known.startsWith(`${code}_`))
      if (OF_NODE.has(code) || isPrefix) continue
      used.add(code)
      if (!owners.has(code)) failures.push(`${file}: ${code} is in no src/error_codes.ts: add its meaning and remedy`)
    }
  }
  for (const [code, name] of owners) if (!used.has(code)) failures.push(`${code} of ${name} is used nowhere`)
  const page = pageOf(tables)
  if (write) writeFileSync(join(root, PAGE), page)
  else if (!existsSync(join(root, PAGE)) || readFileSync(join(root, PAGE), 'utf8') !== page) {
    failures.push(`${PAGE} differs from the tables: node scripts/checks/error_codes.mjs --write`)
  }
  return { failures: [...new Set(failures)], count: owners.size }
}

function sourcesOf(root) {
  const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))
  const ofPackages = packages
    .flatMap(({ folder }) => filesBelow(root, join(folder, 'src'), /\.(ts|cc|h)$/))
    .filter((file) => !file.endsWith('/error_codes.ts'))
  // Written into every package by the build.
  return [...ofPackages, 'scripts/build/optional_builtins.ts']
}

function pageOf(tables) {
  const sections = tables.map(({ packageName, codes }) => {
    const rows = Object.entries(codes).map(([code, { meaning, remedy }]) => `| \`${code}\` | ${meaning} | ${remedy} |`)
    return `\n## ${packageName}\n\n| code | meaning | remedy |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return HEAD + sections.join('')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
  const { failures, count } = await checkErrorCodes(root, process.argv.includes('--write'))
  for (const failure of failures) console.error(failure)
  console.log(`Error codes: ${count}, ${failures.length} failures`)
  process.exitCode = failures.length === 0 ? 0 : 1
}
