import type { BenchReport } from './bench_report.js'
import { seriesName } from './comparison.js'

/** Why cells have no time: a line per implementation and reason, with the number of cells. */
export function leftOut({ comparisons }: Pick<BenchReport, 'comparisons'>): string[] {
  const counts = new Map<string, number>()
  for (const { section, results } of comparisons) {
    for (const { series, outcome } of results) {
      if (outcome.status === 'measured') continue
      const name = section === 'table' ? series.implementation : seriesName(series, section)
      const text =
        outcome.status === 'differs'
          ? `${name} differs from the first implementation, by more than 1e-4`
          : // The seconds of a slow run differ from cell to cell; the rest of the message does not.
            `${name} ${outcome.status}: ${outcome.reason.replace(/^would take about [\d.]+ s a run, /, 'a run would take ')}`
      counts.set(text, (counts.get(text) ?? 0) + 1)
    }
  }
  return [...counts].map(([text, count]) => `${text} (${count} ${count === 1 ? 'cell' : 'cells'})`)
}
