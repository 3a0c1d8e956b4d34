// Tables of docs/bench/wasm.md.
import { readFileSync, writeFileSync } from 'node:fs'

const page = new URL('../../../docs/bench/wasm.md', import.meta.url)

export const ms = (value) => value.toPrecision(3)
export const ratio = (value) => value.toFixed(2)

/** Rows of results { name, wasm, onnx, … } with their ratios to each of `baselines` ({ field: title }), and the ratios' mean. */
export function comparisonTable(results, baselines) {
  const fields = Object.keys(baselines)
  const rows = results.map((of) =>
    row([of.name, ms(of.wasm), ...fields.flatMap((field) => [ms(of[field]), ratio(of.wasm / of[field])])]),
  )
  const head = ['cell, B × T × H', 'wasm', ...Object.values(baselines).flatMap((title) => [title, 'ratio'])]
  const summaries = fields.map((field) => `Time over ${baselines[field]}: ${summary(results, field)}.`)
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows, '', summaries.join(' ')].join('\n')
}

export function row(cells) {
  return `| ${cells.join(' | ')} |`
}

function summary(results, field) {
  const ratios = results.map((of) => of.wasm / of[field])
  const mean = Math.exp(ratios.reduce((sum, value) => sum + Math.log(value), 0) / ratios.length)
  return `${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))}, geometric mean ${ratio(mean)}`
}

/** Puts `text` between the marks of section `name` of the page. */
export function writeSection(name, text) {
  const content = readFileSync(page, 'utf8')
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`]
  const [from, to] = [content.indexOf(begin), content.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`Cannot write ${name} as docs/bench/wasm.md has no marks of it`)
  writeFileSync(page, `${content.slice(0, from + begin.length)}\n${text}\n\n${content.slice(to)}`)
}
