import { escapeHtml, htmlPage, type PageSection } from '@cudnn-rnn/rnn/report'
import type { BenchReport } from './bench_report.js'
import { instructionSetNote } from './instruction_set_note.js'
import { leftOut } from './left_out.js'
import { loadNote } from './load_note.js'
import { threeDigits } from './number_format.js'
import { type ReportTable, reportTables } from './report_tables.js'
import { ratioChart, seriesColor, timesChart } from './time_charts.js'

const SERIES = {
  light: ['#b8461e', '#d9a441', '#3a6ea5', '#2f8f6b', '#8a5aa8', '#6b7280', '#a3527a', '#5f7d2b'],
  dark: ['#f0906a', '#ecc56f', '#7db2ea', '#66c9a3', '#bd93d8', '#9aa4b0', '#e08fb5', '#a9c86a'],
} as const

/** Styles of this page, added to the styles of all pages. */
const STYLE = `:root { --quiet: #6b7280; --met: #2f7d4f; --missed: #b3261e; ${variables(SERIES.light)} }
@media (prefers-color-scheme: dark) { :root { --quiet: #9aa4b0; --met: #7ccf9b; --missed: #ff8a80; ${variables(SERIES.dark)} } }
body { max-width: 68rem; } .note { color: var(--quiet); } .legend span { margin-right: 1.25rem; } .legend i { width: .7rem; height: .7rem; border-radius: 50%; vertical-align: baseline; }
.wide { overflow-x: auto; } table { width: 100%; font-size: .85rem; line-height: 1.3; font-variant-numeric: tabular-nums; } small { color: var(--quiet); font-size: .72rem; }
th, td { text-align: right; padding: .25rem 0 .25rem .9rem; white-space: nowrap; } thead th { vertical-align: bottom; white-space: normal; }
tbody th { color: inherit; } th:first-child, .words th, .words td { text-align: left; } th:first-child { padding-left: 0; } .words th, .words td { white-space: normal; }
.met { color: var(--met); } .missed { color: var(--missed); } .open { color: var(--quiet); }
`

/** One self-contained HTML page: targets, charts, tables, implementations. */
export function benchPage(report: BenchReport): string {
  const implementations = report.implementations.map(({ title, version, detail }) =>
    row([title, version ?? 'absent', detail]),
  )
  return htmlPage({
    title: 'Benchmark of the recurrent executors',
    resultHtml: introduction(report),
    style: STYLE,
    sections: [
      { heading: 'Targets', html: targetTable(report) },
      ...charts(report, 'inference', 'Inference'),
      ...charts(report, 'training', 'Training'),
      ...reportTables(report).map(tableSection),
      ...leftOutSection(report),
      { heading: 'Implementations', html: `<table class="words"><tbody>${implementations.join('')}</tbody></table>` },
    ],
  })
}

function introduction(report: BenchReport): string {
  const { machine, peak, settings, date } = report
  const { processor, memory, system, node } = machine
  return escapeHtml(
    `${processor}, ${memory}, ${system}, Node.js ${node}; ${date.slice(0, 10)}. Every implementation ran in its own process, in ${settings.rounds} turns of ${settings.sliceMs} ms or one run, on ${settings.threads} threads. Largest matrix product seen: ${threeDigits(peak.gflops)} GFLOP/s (${peak.productBy}); memory copied at ${threeDigits(peak.bandwidth)} GB/s. ${[...instructionSetNote(report), ...loadNote(report)].join(' ')}`.trimEnd(),
  )
}

function variables(colors: readonly string[]): string {
  return colors.map((color, index) => `--series-${index}: ${color};`).join(' ')
}

function targetTable({ targets }: BenchReport): string {
  const rows = targets.map(({ number, text, verdict, measured, misses }) => {
    const detail = [measured, ...misses].map(escapeHtml).join('<br>')
    return `<tr><th scope="row">${number}. ${escapeHtml(text)}</th><td class="${verdict}">${verdict}</td><td>${detail}</td></tr>`
  })
  return `<table class="words"><tbody>${rows.join('')}</tbody></table>`
}

function charts(report: BenchReport, pass: 'inference' | 'training', title: string): PageSection[] {
  const shown = report.implementations
    .map(({ name, title }, index) => ({ name, title, index }))
    .filter(({ name }) =>
      report.comparisons.some(({ section, results }) =>
        results.some(
          ({ series, outcome }) =>
            section === 'table' &&
            series.pass === pass &&
            series.implementation === name &&
            outcome.status === 'measured',
        ),
      ),
    )
  if (shown.length === 0) return []
  const legend = shown.map(
    ({ title, index }) => `<span><i style="background:${seriesColor(index)}"></i>${escapeHtml(title)}</span>`,
  )
  return [
    {
      heading: `${title}: time of one run, B × T × H`,
      html: `<p class="legend">${legend.join('')}</p>\n${timesChart(report, pass)}`,
    },
    {
      heading: `${title}: time over that of the fastest baseline`,
      html: `<p class="note">Bars to the left of the line are faster than every baseline.</p>\n${ratioChart(report, pass)}`,
    },
  ]
}

function tableSection({ title, note, headers, rows }: ReportTable): PageSection {
  const head = headers.map((header) => `<th scope="col">${escapeHtml(header)}</th>`).join('')
  const table = `<table><thead><tr>${head}</tr></thead><tbody>${rows.map(row).join('')}</tbody></table>`
  return { heading: title, html: `<p class="note">${escapeHtml(note)}</p>\n<div class="wide">${table}</div>` }
}

function leftOutSection(report: BenchReport): PageSection[] {
  const items = leftOut(report).map((line) => `<li>${escapeHtml(line)}</li>`)
  return items.length === 0 ? [] : [{ heading: 'Left out', html: `<ul>${items.join('')}</ul>` }]
}

function row([first = '', ...rest]: readonly string[]): string {
  return `<tr><th scope="row">${escapeHtml(first)}</th>${rest.map((cell) => `<td>${twoLines(escapeHtml(cell))}</td>`).join('')}</tr>`
}

/** "12.3 (12.1–12.6)" with its quartiles under the median. */
function twoLines(cell: string): string {
  return cell.replace(/^(\S+) \((\S+)\)$/, '$1<br><small>$2</small>')
}
