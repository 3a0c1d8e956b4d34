import {
  type BenchReport,
  bestBaseline,
  type ComparisonResult,
  medianOf,
  ofSection,
  type TargetVerdict,
} from './bench_report.js'
import type { Section } from './comparison.js'
import { percent, threeDigits } from './number_format.js'
import { reportTables } from './report_tables.js'
import { geometricMean } from './statistics.js'
import { CELL_TITLES, type Pass, sizesOf } from './workload.js'

/** One table of the page: a section of the benchmark in one pass. */
interface PageTable {
  readonly heading: string
  readonly section: Section
  readonly pass: Pass
}

const TABLES: readonly PageTable[] = [
  { heading: 'Inference', section: 'table', pass: 'inference' },
  { heading: 'Training', section: 'table', pass: 'training' },
  { heading: 'Single steps', section: 'step', pass: 'streaming' },
]

/** docs/bench/cells.md: the cells of several reports of one machine side by side, one report for each instruction set. */
export function cellsPage(reports: readonly BenchReport[]): string {
  return `# Cells and their rooflines

Written by \`npm run bench -- page\` from the JSON files of [results](results). Milliseconds are medians; the ratio is ours over the fastest other implementation, the bound the roofline of the cell ([how it is computed](../../apps/bench/README.md#rooflines)), and "of bound" the share of our time that the bound is.

${reports.map((report) => `- ${setName(report)}: ${conditions(report)}`).join('\n')}

## Goals

${markdownTable(['goal', ...reports.map(setName)], goalRows(reports))}

${TABLES.flatMap((table) => tableText(reports, table)).join('\n\n')}

${reports.flatMap(rateTables).join('\n\n')}
`
}

function setName({ settings }: BenchReport): string {
  return settings.instructionSet ?? 'widest'
}

function conditions({ machine, date, settings, loadBefore, peak }: BenchReport): string {
  return `${machine.processor}, ${settings.threads} threads, Node.js ${machine.node}, ${date.slice(0, 10)}, ${settings.rounds} rounds, load ${loadBefore.toFixed(1)} before the run; largest product of any implementation ${threeDigits(peak.gflops)} GFLOP/s (${peak.productBy})`
}

/** Goals that at least one report measured, with the cells that miss them. */
function goalRows(reports: readonly BenchReport[]): string[][] {
  const measured = (verdict: TargetVerdict | undefined) => verdict !== undefined && verdict.measured !== 'not measured'
  const texts = reports.flatMap(({ targets }) => targets.filter(measured).map(({ text }) => text))
  return [...new Set(texts)].map((text) => [
    text,
    ...reports.map(({ targets }) => {
      const target = targets.find((each) => each.text === text)
      if (target === undefined || !measured(target)) return ''
      return [`**${target.verdict}**: ${target.measured}`, ...target.misses].join('<br>')
    }),
  ])
}

function tableText(reports: readonly BenchReport[], { heading, section, pass }: PageTable): string[] {
  const cellsOf = (report: BenchReport) =>
    ofSection(report.comparisons, section).filter(({ results }) => results[0]?.series.pass === pass)
  const names = [...new Set(reports.flatMap((report) => cellsOf(report).map(cellName)))]
  if (names.length === 0) return []
  const headers = reports.flatMap((report) => [`${setName(report)}: ours / best other`, 'ratio', 'bound', 'of bound'])
  const ratios = reports.map((): number[] => [])
  const rows = names.map((name) => [
    name,
    ...reports.flatMap((report, place) => {
      const cell = cellsOf(report).find((each) => cellName(each) === name)
      return cell === undefined ? ['', '', '', ''] : cellTexts(report, cell, ratios[place])
    }),
  ])
  const means = ratios.flatMap((of) => ['', of.length === 0 ? '' : geometricMean(of).toFixed(2), '', ''])
  return [`## ${heading}`, markdownTable(['cell, B × T × H', ...headers], [...rows, ['geometric mean', ...means]])]
}

/** Times, ratio, bound and share of the bound; notes the ratio. */
function cellTexts({ implementations }: BenchReport, cell: ComparisonResult, ratios: number[]): string[] {
  const kindOf = (name: string) => implementations.find((each) => each.name === name)?.kind
  const ours = medianOf(cell, ({ implementation }) => kindOf(implementation) === 'executor')
  const baseline = bestBaseline(cell, (name) => kindOf(name) === 'baseline')
  const ratio = ours === undefined || baseline === undefined ? undefined : ours / baseline.ms
  if (ratio !== undefined) ratios.push(ratio)
  const { roofline } = cell
  return [
    `${ours === undefined ? '–' : threeDigits(ours)} / ${baseline === undefined ? '–' : `${threeDigits(baseline.ms)} ${baseline.name}`}`,
    ratio?.toFixed(2) ?? '',
    roofline === undefined ? '' : `${threeDigits(roofline.ms)} ${roofline.boundBy}`,
    roofline === undefined || ours === undefined ? '' : percent(roofline.ms / ours),
  ]
}

function rateTables(report: BenchReport): string[] {
  return reportTables(report)
    .filter(({ title }) => title === 'Rates of this machine' || title === 'Memory')
    .flatMap(({ title, note, headers, rows }) => [
      `## ${title}, ${setName(report)}`,
      note,
      markdownTable(headers, rows),
    ])
}

function cellName({ workload }: ComparisonResult): string {
  return `${CELL_TITLES[workload.cellMode]} ${sizesOf(workload)}`
}

function markdownTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(headers), line(headers.map(() => '---')), ...rows.map(line)].join('\n')
}
