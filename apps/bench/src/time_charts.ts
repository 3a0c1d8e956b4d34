import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { type BenchReport, ofSection, ratioToBestBaseline } from './bench_report.js'
import { CELL_TITLES, sizesOf } from './workload.js'

/** Colors of implementations in the order of a report; the page sets the variables, light and dark. */
const SERIES_COUNT = 8

const STYLE = { fontSize: '13px', background: 'transparent', overflow: 'visible' }

/** Logarithmic, as implementations are orders of magnitude apart. */
const X_AXIS = {
  type: 'log',
  grid: true,
  labelAnchor: 'center',
  labelOffset: 40,
  tickFormat: (value: number) => `${value}`,
} as const

/** Height of margins and axes in pixels. */
const FRAME = 110

type Pass = 'inference' | 'training'

/** The color of the implementation at `index` of the report. */
export function seriesColor(index: number): string {
  return `var(--series-${index % SERIES_COUNT})`
}

/** Times of all implementations, a panel per cell and a row per size, as an SVG element in text form. */
export function timesChart(report: BenchReport, pass: Pass): string {
  const points = tableOf(report, pass).flatMap(({ workload, results }) =>
    results.flatMap(({ series, outcome }) => {
      if (outcome.status !== 'measured') return []
      const index = report.implementations.findIndex(({ name }) => name === series.implementation)
      const { median, q1, q3 } = outcome.spread
      return [
        { cell: CELL_TITLES[workload.cellMode], size: sizesOf(workload), color: seriesColor(index), median, q1, q3 },
      ]
    }),
  )
  const rows = new Set(points.map(({ size }) => size)).size
  return drawPlot({
    width: 900,
    height: FRAME + 4 * rows * 26,
    x: { ...X_AXIS, label: 'milliseconds', inset: 8 },
    y: { label: null, domain: sizeOrder(points) },
    fy: { label: null, domain: Object.values(CELL_TITLES) },
    marks: [
      Plot.ruleY(points, { fy: 'cell', y: 'size', x1: 'q1', x2: 'q3', stroke: 'color', strokeWidth: 2 }),
      Plot.dot(points, { fy: 'cell', y: 'size', x: 'median', fill: 'color', r: 4.5 }),
    ],
  })
}

/** The first executor's time over its fastest baseline's, cell by cell; left of the line it is faster. */
export function ratioChart(report: BenchReport, pass: Pass): string {
  const executor =
    report.implementations.find(({ kind, participates }) => kind === 'executor' && participates)?.name ?? ''
  const baselines = new Set(report.implementations.filter(({ kind }) => kind === 'baseline').map(({ name }) => name))
  const points = tableOf(report, pass).flatMap((comparison) => {
    const ratio = ratioToBestBaseline(comparison, executor, (name) => baselines.has(name))
    if (ratio === undefined) return []
    const { workload } = comparison
    return [{ cell: CELL_TITLES[workload.cellMode], size: sizesOf(workload), ratio, label: `${ratio.toFixed(2)} ×` }]
  })
  const rows = new Set(points.map(({ size }) => size)).size
  return drawPlot({
    width: 900,
    height: FRAME + 4 * rows * 22,
    // Room for the numbers beside the bars.
    x: { ...X_AXIS, label: `${executor} over its fastest baseline`, inset: 56 },
    y: { label: null, domain: sizeOrder(points) },
    fy: { label: null, domain: Object.values(CELL_TITLES) },
    marks: [
      Plot.ruleX([1], { stroke: 'var(--ink)', strokeWidth: 1.5 }),
      Plot.ruleY(points, { fy: 'cell', y: 'size', x1: 1, x2: 'ratio', stroke: seriesColor(0), strokeWidth: 10 }),
      Plot.text(points, {
        fy: 'cell',
        y: 'size',
        x: 'ratio',
        text: 'label',
        textAnchor: 'start',
        dx: 6,
        fill: 'var(--ink)',
        filter: ({ ratio }: { ratio: number }) => ratio >= 1,
      }),
      Plot.text(points, {
        fy: 'cell',
        y: 'size',
        x: 'ratio',
        text: 'label',
        textAnchor: 'end',
        dx: -6,
        fill: 'var(--ink)',
        filter: ({ ratio }: { ratio: number }) => ratio < 1,
      }),
    ],
  })
}

function tableOf(report: BenchReport, pass: Pass) {
  return ofSection(report.comparisons, 'table').filter(({ results }) => results[0]?.series.pass === pass)
}

function sizeOrder(points: readonly { readonly size: string }[]): string[] {
  return [...new Set(points.map(({ size }) => size))]
}

/** The chart as an SVG element in text form. */
export function drawPlot(options: Plot.PlotOptions): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  return Plot.plot({
    marginLeft: 104,
    marginRight: 76,
    marginBottom: 48,
    ...options,
    document: document as unknown as Document,
    style: STYLE,
  }).outerHTML
}
