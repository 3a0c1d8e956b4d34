import { tableText } from '@cudnn-rnn/rnn/report'
import type { BenchReport } from './bench_report.js'
import { instructionSetNote } from './instruction_set_note.js'
import { leftOut } from './left_out.js'
import { loadNote } from './load_note.js'
import { threeDigits } from './number_format.js'
import { reportTables } from './report_tables.js'

/** The report as plain text: machine, implementations, tables, targets. */
export function consoleReport(report: BenchReport): string {
  const { machine, peak, implementations } = report
  const lines = [
    `${machine.processor}, ${machine.memory}, ${machine.system}, Node.js ${machine.node}, ${report.date}`,
    `Peaks of this machine on ${report.settings.threads} threads: product ${threeDigits(peak.gflops)} GFLOP/s (${peak.productBy}), memory ${threeDigits(peak.bandwidth)} GB/s`,
    ...instructionSetNote(report),
    ...loadNote(report),
    '',
    ...implementations.map(({ title, version, detail }) => `${title.padEnd(22)}${version ?? 'absent'}: ${detail}`),
  ]
  for (const { title, note, headers, rows } of reportTables(report)) {
    lines.push('', title, note, '', tableText({ header: headers, rows }))
  }
  const missing = leftOut(report)
  if (missing.length > 0) lines.push('', 'Left out', ...missing.map((line) => `  ${line}`))
  lines.push('', 'Targets')
  for (const { number, text, verdict, measured, misses } of report.targets) {
    lines.push(`  ${number}. ${verdict.padEnd(6)} ${text}: ${measured}`, ...misses.map((miss) => `            ${miss}`))
  }
  return `${lines.join('\n')}\n`
}
