import type { ResultTable } from '@cudnn-rnn/rnn/report'
import type { BenchReport } from './bench_report.js'
import { conditionsOf, gridRatios, reducedTable, stepTable, summaryTable, worstTable } from './report_tables.js'

/** docs/bench/space.md: the reports of one machine, each of another instruction set. */
export function spacePage(reports: readonly BenchReport[]): string {
  return `# The space of sizes

Written by \`npm run bench -- page\` from the JSON files of [results](results): a grid of odd and even sizes, single steps with carried state, and networks that a seed draws: all cells, H 16 to 512, 1 to 64 rows, 1 to 200 steps, inputs narrower and wider than H, one and two layers and directions, on one thread and two, a quarter in training. The ratio is our median over that of the fastest other library, which ran in turns with ours on as many threads: below 1, ours is faster. The bound of a ratio is the roofline of the network on this machine over the time of that library ([how it is computed](../../apps/bench/README.md#rooflines)).

${reports.map((report) => `- ${setOf(report)}: ${conditionsOf(report)}.`).join('\n')}

## Summary

${markdown(summaryOf(reports))}

${reports.flatMap(sectionsOf).join('\n\n')}
`
}

const REDUCED =
  "Networks that the seed draws, once more with the factors of products in bfloat16 or int8: geometric means of our median over that of our float32, and over that of the fastest other library in the same type, PyTorch's bfloat16 and `quantize_dynamic`, and ONNX Runtime's `quantize_dynamic`."

function setOf({ instructionSet }: BenchReport): string {
  return instructionSet ?? 'widest'
}

/** The summaries, a row for each kind of network and instruction set. */
function summaryOf(reports: readonly BenchReport[]): ResultTable {
  const tables = reports.map((report) => ({ set: setOf(report), ...summaryTable(report) }))
  const names = [...new Set(tables.flatMap(({ rows }) => rows.map(([name]) => name)))]
  const rows = names.flatMap((name) =>
    tables.flatMap(({ set, rows }) =>
      rows.filter(([first]) => first === name).map((row) => [name, set, ...row.slice(1)]),
    ),
  )
  return { header: ['networks', 'instruction set', ...(tables[0]?.header.slice(1) ?? [])], rows }
}

function sectionsOf(report: BenchReport): string[] {
  const set = setOf(report)
  const reduced = reducedTable(report)
  const grids = [...gridRatios(report)].map(([name, ratios]) => {
    const batches = [...new Set(ratios.map(({ result }) => result.workload.batch))]
    const units = [...new Set(ratios.map(({ result }) => result.workload.numUnits))]
    const rows = units.map((numUnits) => {
      const of = ratios.filter(({ result }) => result.workload.numUnits === numUnits)
      return [String(numUnits), ...of.map(({ ratio }) => ratio.toFixed(2))]
    })
    return `### ${name}, ${set}: H by B\n\n${markdown({ header: ['H', ...batches.map(String)], rows })}`
  })
  const steps = stepTable(report)
  return [
    ...(steps.rows.length === 0 ? [] : [`## Single steps, ${set}\n\n${markdown(steps)}`]),
    ...(reduced.rows.length === 0 ? [] : [`## Reduced precision, ${set}\n\n${REDUCED}\n\n${markdown(reduced)}`]),
    `## The worst ten networks, ${set}\n\n${markdown(worstTable(report))}`,
    `## The grid, ${set}`,
    ...grids,
  ]
}

function markdown({ header, rows }: ResultTable): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}
