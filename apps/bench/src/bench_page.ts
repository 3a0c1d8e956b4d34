import type { BenchReport } from './bench_report.js'
import { escapeHtml } from './escape_html.js'
import { leftOut } from './left_out.js'
import { threeDigits } from './number_format.js'
import { type ReportTable, reportTables } from './report_tables.js'
import { ratioChart, seriesColor, timesChart } from './time_charts.js'

const SERIES = {
  light: ['#b8461e', '#d9a441', '#3a6ea5', '#2f8f6b', '#8a5aa8', '#6b7280', '#a3527a', '#5f7d2b'],
  dark: ['#f0906a', '#ecc56f', '#7db2ea', '#66c9a3', '#bd93d8', '#9aa4b0', '#e08fb5', '#a9c86a'],
} as const

/** One self-contained HTML page: no scripts, no requests; follows the reader's light or dark setting. */
export function benchPage(report: BenchReport): string {
  const { machine, peak, settings, contestants } = report
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Benchmark of the recurrent executors</title>
<style>
:root { color-scheme: light dark; --ink: #1c2126; --paper: #fcfcfa; --rule: #d9dcd6; --quiet: #6b7280; --met: #2f7d4f; --missed: #b3261e; ${variables(SERIES.light)} }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #16191d; --rule: #353b42; --quiet: #9aa4b0; --met: #7ccf9b; --missed: #ff8a80; ${variables(SERIES.dark)} } }
body { margin: 2.5rem auto; max-width: 68rem; padding: 0 1.25rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; }
p { margin: .25rem 0 .75rem; } .note { color: var(--quiet); }
svg { max-width: 100%; height: auto; color: var(--ink); }
.legend span { display: inline-block; margin-right: 1.25rem; } .legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .4rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .85rem; line-height: 1.3; font-variant-numeric: tabular-nums; } small { color: var(--quiet); font-size: .72rem; }
th, td { text-align: right; padding: .25rem 0 .25rem .9rem; border-bottom: 1px solid var(--rule); font-weight: normal; vertical-align: top; white-space: nowrap; }
thead th { vertical-align: bottom; color: var(--quiet); white-space: normal; } th:first-child, .words th, .words td { text-align: left; } th:first-child { padding-left: 0; } .words th, .words td { white-space: normal; }
.met { color: var(--met); } .missed { color: var(--missed); } .open { color: var(--quiet); }
</style>
</head>
<body>
<h1>Benchmark of the recurrent executors</h1>
<p>${escapeHtml(`${machine.processor}, ${machine.memory}, ${machine.system}, Node.js ${machine.node}; ${report.date.slice(0, 10)}.`)}
Everybody ran in a process of its own, in turns (${settings.rounds} of ${settings.sliceMs} ms or one run), on ${settings.threads} threads.
Largest matrix product seen: ${threeDigits(peak.gflops)} GFLOP/s (${escapeHtml(peak.productBy)}); memory copied at ${threeDigits(peak.bandwidth)} GB/s.</p>
<h2>Targets</h2>
${targetTable(report)}
${charts(report, 'inference', 'Inference')}
${charts(report, 'training', 'Training')}
${reportTables(report).map(tableSection).join('\n')}
${leftOutSection(report)}
<h2>Contestants</h2>
<table class="words"><tbody>${contestants
    .map(({ title, version, detail }) => row([title, version ?? 'absent', detail]))
    .join('')}</tbody></table>
</body>
</html>
`
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

function charts(report: BenchReport, pass: 'inference' | 'training', title: string): string {
  const playing = report.contestants
    .map(({ name, title }, index) => ({ name, title, index }))
    .filter(({ name }) =>
      report.comparisons.some(({ section, results }) =>
        results.some(
          ({ lane, outcome }) =>
            section === 'table' && lane.pass === pass && lane.contestant === name && outcome.status === 'measured',
        ),
      ),
    )
  if (playing.length === 0) return ''
  const legend = playing.map(
    ({ title, index }) => `<span><i style="background:${seriesColor(index)}"></i>${escapeHtml(title)}</span>`,
  )
  return `<h2>${title}: time of one run, B × T × H</h2>
<p class="legend">${legend.join('')}</p>
${timesChart(report, pass)}
<h2>${title}: time over that of the fastest peer</h2>
<p class="note">Bars to the left of the line are faster than every peer.</p>
${ratioChart(report, pass)}`
}

function tableSection({ title, note, headers, rows }: ReportTable): string {
  return `<h2>${escapeHtml(title)}</h2>
<p class="note">${escapeHtml(note)}</p>
<div class="wide"><table><thead><tr>${headers.map((header) => `<th scope="col">${escapeHtml(header)}</th>`).join('')}</tr></thead><tbody>${rows.map(row).join('')}</tbody></table></div>`
}

function leftOutSection(report: BenchReport): string {
  const lines = leftOut(report)
  if (lines.length === 0) return ''
  return `<h2>Left out</h2>\n<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`
}

function row([first = '', ...rest]: readonly string[]): string {
  return `<tr><th scope="row">${escapeHtml(first)}</th>${rest.map((cell) => `<td>${twoLines(escapeHtml(cell))}</td>`).join('')}</tr>`
}

/** "12.3 (12.1–12.6)" with its quartiles under the median. */
function twoLines(cell: string): string {
  return cell.replace(/^(\S+) \((\S+)\)$/, '$1<br><small>$2</small>')
}
