import { escapeHtml, htmlPage, tableHtml } from '@cudnn-rnn/rnn/report'
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import type { BenchReport, NetworkRatio } from './bench_report.js'
import { conditionsOf, gridRatios, reducedTable, stepTable, summaryTable, worstTable } from './report_tables.js'

/** One self-contained HTML page: summary, heat maps of the grid, single steps, the worst networks. */
export function benchPage(report: BenchReport): string {
  return htmlPage({
    title: 'Benchmark of the space of sizes',
    resultHtml: escapeHtml(`Our time over that of the fastest other implementation. ${conditionsOf(report)}.`),
    sections: [
      { heading: 'Summary', html: tableHtml(summaryTable(report)) },
      ...[...gridRatios(report)].map(([heading, ratios]) => ({ heading: `${heading}: H by B`, html: heatMap(ratios) })),
      { heading: 'Single steps', html: tableHtml(stepTable(report)) },
      { heading: 'Reduced precision', html: tableHtml(reducedTable(report)) },
      { heading: 'The worst ten networks', html: tableHtml(worstTable(report)) },
    ],
  })
}

/** Green below 1, red above. */
function heatMap(ratios: readonly NetworkRatio[]): string {
  const cells = ratios.map(({ result: { workload }, ratio }) => ({ ...workload, ratio, label: ratio.toFixed(2) }))
  const place = { x: 'batch', y: 'numUnits' }
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  return Plot.plot({
    width: 560,
    height: 60 + 34 * new Set(cells.map(({ numUnits }) => numUnits)).size,
    ...{ marginLeft: 104, marginRight: 76, marginBottom: 48 },
    x: { type: 'band', label: 'B', axis: 'top' },
    y: { type: 'band', label: 'H' },
    color: { type: 'diverging-log', scheme: 'RdYlGn', reverse: true, pivot: 1, domain: [0.5, 2], clamp: true },
    marks: [
      Plot.cell(cells, { ...place, fill: 'ratio' }),
      Plot.text(cells, { ...place, text: 'label', fill: 'black' }),
    ],
    document: document as unknown as Document,
    style: { fontSize: '13px', background: 'transparent', overflow: 'visible' },
  }).outerHTML
}
