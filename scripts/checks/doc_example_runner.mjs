// Runs compiled examples in their order, in this process, each in a new folder. After each example it appends a line to the
// results file: { name, lines } or { name, lines, error }. An example that ends the process leaves no line.
// Usage: node doc_example_runner.mjs RESULTS FOLDER NAME...
import { appendFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { formatWithOptions } from 'node:util'

const [results, folder, ...names] = process.argv.slice(2)
let lines = []
console.log = (...values) => lines.push(formatWithOptions({ breakLength: Number.POSITIVE_INFINITY }, ...values))

for (const name of names) {
  lines = []
  process.chdir(mkdtempSync(join(tmpdir(), `${name}-`)))
  const result = { name, lines }
  try {
    await import(pathToFileURL(join(folder, `${name}.mjs`)))
  } catch (error) {
    result.error = String(error?.stack ?? error)
  }
  appendFileSync(results, `${JSON.stringify(result)}\n`)
}
