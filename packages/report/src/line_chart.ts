import * as Plot from '@observablehq/plot'
import { chartDocument } from './chart_document.js'
import { escapeHtml } from './escape_html.js'

export interface Point {
  readonly x: number | Date
  readonly y: number
}

export interface Series {
  readonly label: string
  /** A CSS colour; pages define var(--train), var(--held-out), var(--second) and var(--baseline). */
  readonly color: string
  readonly points: readonly Point[]
  /** Draws the points thin, and their mean over so many thick. */
  readonly smoothing?: number | undefined
  /** Marks every point. */
  readonly dots?: boolean | undefined
}

export interface LineChartOptions {
  readonly x: string
  readonly y: string
  readonly series: readonly Series[]
  /** Horizontal lines with a text: values of baselines. */
  readonly rules?: readonly { readonly y: number; readonly text: string }[] | undefined
  /** Shaded areas between two values: an interval. */
  readonly bands?: readonly { readonly x: number | Date; readonly low: number; readonly high: number }[] | undefined
  readonly logarithmic?: boolean | undefined
  readonly height?: number | undefined
}

/** Lines over a common axis with their legend, as HTML that needs no script. Values that are not finite leave gaps. */
export function lineChart({
  x,
  y,
  series,
  rules = [],
  bands = [],
  logarithmic = false,
  height = 300,
}: LineChartOptions) {
  const shown = series.filter(({ points }) => points.length > 0)
  const chart = Plot.plot({
    document: chartDocument(),
    width: 860,
    height,
    marginLeft: 64,
    marginBottom: 48,
    marginRight: rules.length > 0 ? 130 : 24,
    style: { fontSize: '13px', background: 'transparent' },
    x: { label: x, labelAnchor: 'center', labelOffset: 40, nice: true },
    y: { label: y, grid: true, zero: false, ...(logarithmic ? { type: 'log' as const } : {}) },
    marks: [
      Plot.areaY(bands, { x: 'x', y1: 'low', y2: 'high', fill: 'var(--band)' }),
      ...shown.flatMap((one) => seriesMarks(one)),
      Plot.ruleY(rules, { y: 'y', stroke: 'var(--baseline)', strokeWidth: 1.5, strokeDasharray: '5 4' }),
      Plot.text(rules, {
        y: 'y',
        text: 'text',
        frameAnchor: 'right',
        textAnchor: 'start',
        dx: 8,
        fill: 'var(--baseline)',
      }),
    ],
  })
  const legend = shown.map(({ label, color }) => `<span><i style="background:${color}"></i>${escapeHtml(label)}</span>`)
  return `<p class="legend">${legend.join('')}</p>\n${chart.outerHTML}`
}

function seriesMarks({ points, color, smoothing = 1, dots = false }: Series) {
  const channels = { x: 'x', y: 'y', stroke: color } as const
  const marks: Plot.Markish[] = []
  if (smoothing > 1) {
    const thick = Plot.windowY({ k: smoothing, anchor: 'end' }, { ...channels, strokeWidth: 2 })
    marks.push(Plot.line(points, { ...channels, strokeWidth: 1, strokeOpacity: 0.25 }), Plot.line(points, thick))
  } else marks.push(Plot.line(points, { ...channels, strokeWidth: 2 }))
  if (dots) marks.push(Plot.dot(points, { x: 'x', y: 'y', fill: color, r: 3.5 }))
  return marks
}
