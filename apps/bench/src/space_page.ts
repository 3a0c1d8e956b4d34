import { escapeHtml, htmlPage } from '@cudnn-rnn/rnn/report'
import * as Plot from '@observablehq/plot'
import {
  groupedBy,
  type SpaceRatio,
  type SpaceReport,
  spaceRatios,
  spaceSummary,
  worstNetworks,
} from './space_report.js'
import { drawPlot } from './time_charts.js'
import { CELL_TITLES } from './workload.js'

const STYLE =
  'table { font-variant-numeric: tabular-nums; } th, td { text-align: right; padding: .2rem 0 .2rem 1rem; } th:first-child, td:first-child { text-align: left; padding-left: 0; }'

/** One self-contained HTML page: summary, heat maps of the grid, the worst networks. */
export function spacePage(report: SpaceReport): string {
  const { machine, date, seed, implementations } = report
  const peers = implementations
    .filter(({ participates }) => participates)
    .map(({ title, version }) => `${title} ${version}`)
  const maps = groupedBy(
    spaceRatios(report).filter(({ result }) => result.id.startsWith('space/grid/')),
    ({ result, pass, threads }) =>
      `${CELL_TITLES[result.workload.cellMode]}, ${pass}, ${threads} thread${threads > 1 ? 's' : ''}`,
  )
  return htmlPage({
    title: 'Benchmark of the space of sizes',
    resultHtml: escapeHtml(
      `Our time over that of the fastest other implementation. ${machine.processor}, Node.js ${machine.node}; ${date.slice(0, 10)}; networks drawn by seed ${seed}. ${peers.join(', ')}.`,
    ),
    style: STYLE,
    sections: [
      { heading: 'Summary', html: tableHtml(spaceSummary(report)) },
      ...[...maps].map(([heading, ratios]) => ({ heading: `${heading}: H by B`, html: heatMap(ratios) })),
      { heading: 'The worst ten networks', html: tableHtml(worstNetworks(report)) },
    ],
  })
}

/** Green below 1, red above. */
function heatMap(ratios: readonly SpaceRatio[]): string {
  const cells = ratios.map(({ result: { workload }, ratio }) => ({ ...workload, ratio, label: ratio.toFixed(2) }))
  const place = { x: 'batch', y: 'numUnits' }
  return drawPlot({
    width: 560,
    height: 60 + 34 * new Set(cells.map(({ numUnits }) => numUnits)).size,
    x: { type: 'band', label: 'B', axis: 'top' },
    y: { type: 'band', label: 'H' },
    color: { type: 'diverging-log', scheme: 'RdYlGn', reverse: true, pivot: 1, domain: [0.5, 2], clamp: true },
    marks: [
      Plot.cell(cells, { ...place, fill: 'ratio' }),
      Plot.text(cells, { ...place, text: 'label', fill: 'black' }),
    ],
  })
}

function tableHtml({
  header,
  rows,
}: {
  readonly header: readonly string[]
  readonly rows: readonly string[][]
}): string {
  const row = (cells: readonly string[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`
  return `<table><thead>${row(header, 'th')}</thead><tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table>`
}
