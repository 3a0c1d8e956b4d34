// docs/optimizer_rules.md from the table of rules in packages/ops/src/contract/optimizer_rules.ts:
//   node scripts/checks/optimizer_rules.mjs [--write]
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

const TABLE = 'packages/ops/src/contract/optimizer_rules.ts'
const MEANINGS = 'packages/ops/src/contract/optimizer_meanings.ts'
const PAGE = 'docs/optimizer_rules.md'

const HEAD = `# Optimizer rules

\`backend.ops.update(rule, variable, slots, source, options)\` updates a variable and its slots in place, element by element, by one of these rules. The optimizers of \`@cudnn-rnn/train\` use them. The source is the gradient, or the mask of a weight decay. Slots have the shape and the layout of their variable; the caller makes them, as zeros or as the initial accumulator of Adagrad.

This page is made of the table \`OPTIMIZER_RULES\` in \`${TABLE}\` by \`node scripts/checks/optimizer_rules.mjs --write\`. [Contributing](../CONTRIBUTING.md#add-an-optimizer-rule) states how to add a rule.
`

/** The table of rules, from its source. */
export async function optimizerRules(root) {
  return (await exportsOf(root, TABLE)).OPTIMIZER_RULES
}

async function exportsOf(root, file) {
  const { code } = await transform(readFileSync(join(root, file), 'utf8'), { loader: 'ts', format: 'esm' })
  return await import(`data:text/javascript,${encodeURIComponent(code)}`)
}

/** Defects of the page made from the table, as sentences; with `write` the page is written. */
export async function checkOptimizerRules(root, write = false) {
  const { OPTIMIZER_MEANINGS } = await exportsOf(root, MEANINGS)
  const rules = Object.entries(await optimizerRules(root))
  const page = HEAD + rules.map(([rule, row]) => sectionOf(rule, row, OPTIMIZER_MEANINGS[rule])).join('')
  if (write) writeFileSync(join(root, PAGE), page)
  else if (!existsSync(join(root, PAGE)) || readFileSync(join(root, PAGE), 'utf8') !== page) {
    return [`${PAGE} differs from the table: node scripts/checks/optimizer_rules.mjs --write`]
  }
  return []
}

function sectionOf(rule, { title, slots, source, options }, { equations, options: meanings }) {
  const list = slots.map((slot) => `\`${slot}\``).join(', ') || 'none'
  const sourceText = `\`${source.name}\`${source.isNullable ? ', or null' : ''}`
  const rows = Object.entries(options).map(
    ([name, option]) => `| \`${name}\` | ${valuesOf(option)} | ${option.default ?? 'required'} | ${meanings[name]} |`,
  )
  return `
## ${rule}

${title[0].toUpperCase()}${title.slice(1)}. Slots: ${list}. Source: ${sourceText}.

\`\`\`
${equations.join('\n')}
\`\`\`

| option | values | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`
}

function valuesOf({ minimum, below }) {
  if (minimum === undefined) return 'boolean'
  return below === undefined ? `number ≥ ${minimum}` : `number ≥ ${minimum}, < ${below}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
  const failures = await checkOptimizerRules(root, process.argv.includes('--write'))
  for (const failure of failures) console.error(failure)
  process.exitCode = failures.length === 0 ? 0 : 1
}
