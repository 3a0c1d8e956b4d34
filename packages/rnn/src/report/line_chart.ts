import * as Plot from '@observablehq/plot'
import {
  checkArguments,
  either,
  fields,
  FLAG,
  integerFrom,
  kind,
  listOf,
  NUMBER,
  optional,
  optionFields,
  type OptionsOf,
  POSITIVE,
  TEXT,
  typed,
  visibleText,
} from '@cudnn-rnn/canonical/rules'
import { chartDocument } from './chart_document.js'
import { type ChartSize, everySize } from './chart_sizes.js'
import { escapeHtml } from './escape_html.js'

export interface Point {
  readonly x: number | Date
  /** Not finite: the line has a gap here. */
  readonly y: number
}

export interface Series {
  readonly label: string
  /** A CSS color; pages define var(--ours), var(--train), var(--second) and var(--baseline). */
  readonly color: string
  readonly points: readonly Point[]
  /** Draws the points thin, and the mean of so many around each thick. */
  readonly smoothing?: number | undefined
  /** Marks every point. */
  readonly dots?: boolean | undefined
  /** A thin line, such as one that lies over another. */
  readonly thin?: boolean | undefined
}

const PLACE = either(
  NUMBER,
  kind('a Date', (value): value is Date => value instanceof Date && !Number.isNaN(value.getTime())),
)
const SERIES = fields({
  label: TEXT,
  color: TEXT,
  points: listOf(fields({ x: PLACE, y: NUMBER })),
  smoothing: optional(integerFrom(1)),
  dots: optional(FLAG),
  thin: optional(FLAG),
})
const OPTIONS = {
  /** The quantity of the horizontal axis, with its unit. */
  x: TEXT,
  /** The quantity of the vertical axis, with its unit. */
  y: TEXT,
  /** The lines. */
  series: typed<readonly Series[]>(listOf(SERIES)),
  /** Horizontal lines with a text: values of baselines. */
  rules: optional(listOf(fields({ y: NUMBER, text: TEXT }))),
  /** Shaded areas between two values: an interval. Values that are not finite leave gaps. */
  bands: optional(listOf(fields({ x: PLACE, low: NUMBER, high: NUMBER }))),
  /** Vertical lines with a text: where a part begins. */
  starts: optional(listOf(fields({ x: PLACE, text: TEXT }))),
  /** A narrow screen shows the part from here on. */
  narrowFrom: optional(PLACE),
  /** The vertical axis is logarithmic. Default false. */
  logarithmic: optional(FLAG),
  /** The vertical axis ends here; lines above it are cut off. */
  top: optional(NUMBER),
  /** In pixels. */
  height: optional(POSITIVE),
}

export interface LineChartOptions extends OptionsOf<typeof OPTIONS> {}

const MARGIN_TOP = 32
/** Dates take two lines of ticks. */
const MARGIN_BOTTOM = { numbers: 44, dates: 56 } as const
/** Points that show their values when they are pointed at, at most, of each series. */
const TOOLTIPS = 120

/**
 * Lines over a common axis with their legend, as HTML that needs no script. Values that are not finite leave gaps.
 *
 * @example
 * ```ts
 * import { lineChart } from '@cudnn-rnn/rnn/report'
 *
 * const points = [3, 2, 1.5].map((y, x) => ({ x, y }))
 * const series = [{ label: 'training', color: 'var(--train)', points }]
 * const html = lineChart({ x: 'step', y: 'loss (nats)', series, rules: [{ y: 1, text: 'baseline' }] })
 * console.log(html.includes('loss (nats)'), html.includes('baseline')) // true true
 * ```
 */
export function lineChart(options: LineChartOptions): string {
  const { options: own } = checkArguments('draw lines', { options }, { options: optionFields(OPTIONS) })
  const shown = own.series.filter(({ points }) => points.length > 0)
  const legend = shown.map(({ label, color }) => `<span><i style="background:${color}"></i>${escapeHtml(label)}</span>`)
  return `<p class="legend">${legend.join('')}</p>\n${everySize((size) => {
    const { narrowFrom, bands = [], starts = [] } = own
    if (size.className === 'wide' || narrowFrom === undefined) return draw(own, shown, size)
    const late = ({ x }: { readonly x: number | Date }) => Number(x) >= Number(narrowFrom)
    const series = shown.map((one) => ({ ...one, points: one.points.filter(late) }))
    return draw({ ...own, bands: bands.filter(late), starts: starts.filter(late) }, series, size)
  })}`
}

function draw(
  { x, y, rules = [], bands = [], starts = [], logarithmic = false, top, height: given = 300 }: LineChartOptions,
  shown: readonly Series[],
  { width, fontSize, ticks, className }: ChartSize,
) {
  const height = className === 'wide' ? given : Math.min(given, 280)
  const domain = verticalDomain(shown, rules, bands, top, logarithmic)
  const xs = shown.flatMap(({ points }) => points.map((point) => Number(point.x)))
  const isTime = shown.some(({ points }) => points[0]?.x instanceof Date)
  const ends = extent(xs).map((value) => (isTime ? new Date(value) : value))
  // Only an axis that ends below its data needs a clip path.
  const clip = top !== undefined
  const marginBottom = isTime ? MARGIN_BOTTOM.dates : MARGIN_BOTTOM.numbers
  // Texts of starts have a line each above the frame, where no series crosses them.
  const line = 1.35 * fontSize
  const marginTop = MARGIN_TOP + starts.length * line
  const inner = height - marginTop - marginBottom
  const ruleWidth = Math.max(0, ...rules.map(({ text }) => text.length)) * fontSize * 0.58
  return Plot.plot({
    document: chartDocument(),
    width,
    height,
    marginLeft: className === 'wide' ? 64 : 58,
    marginTop,
    marginBottom,
    marginRight: rules.length > 0 ? 14 + ruleWidth : 24,
    style: { fontSize: `${fontSize}px`, background: 'transparent' },
    x: {
      label: visibleText(x),
      labelAnchor: 'center',
      labelOffset: marginBottom - 8,
      domain: ends,
      ticks: ticks,
      type: isTime ? 'utc' : 'linear',
    },
    y: {
      label: visibleText(y),
      labelOffset: 0,
      grid: true,
      domain,
      ticks: Math.floor(inner / 28),
      ...tickFormat(domain),
      ...(logarithmic ? { type: 'log' as const } : {}),
    },
    marks: [
      Plot.areaY(bands, { x: 'x', y1: 'low', y2: 'high', fill: 'var(--band)', clip }),
      ...shown.flatMap((one) => seriesMarks(one, { xLabel: x, strokeWidth: className === 'wide' ? 2 : 1.5, clip })),
      Plot.ruleX(starts, { x: 'x', stroke: 'var(--ink)', strokeOpacity: 0.6, strokeDasharray: '2 3' }),
      ...starts.map((start, index) => {
        const isEarly = Number(start.x) < (Number(ends[0]) + Number(ends[1])) / 2
        return Plot.text([start], {
          ...{
            x: 'x',
            text: ({ text }) => visibleText(text),
            frameAnchor: 'top',
            textAnchor: isEarly ? 'start' : 'end',
          },
          ...{ dx: isEarly ? 5 : -5, dy: (index - starts.length) * line, fill: 'var(--ink)' },
        })
      }),
      Plot.ruleY(rules, { y: 'y', stroke: 'var(--baseline)', strokeWidth: 1.5, strokeDasharray: '5 4' }),
      ...ruleLabels(rules, domain, logarithmic, inner, fontSize),
    ],
  })
}

/** Numbers that are long beside the axis are written shortly: 145K, 2e-6. */
function tickFormat(domain: readonly [number, number]) {
  const largest = Math.max(...domain.map(Math.abs))
  if (largest >= 1e5) return { tickFormat: (value: number) => COMPACT.format(value) }
  if (largest < 1e-4) return { tickFormat: (value: number) => (value === 0 ? '0' : value.toExponential()) }
  return {}
}

const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 4 })

/** From the least to the greatest value that is drawn, a little space above and below. */
function verticalDomain(
  shown: readonly Series[],
  rules: readonly { readonly y: number }[],
  bands: readonly { readonly low: number; readonly high: number }[],
  top: number | undefined,
  logarithmic: boolean,
): [number, number] {
  const values = [
    ...shown.flatMap(({ points }) => points.map((point) => point.y)),
    ...rules.map((rule) => rule.y),
    ...bands.flatMap(({ low, high }) => [low, high]),
  ].filter((value) => Number.isFinite(value) && (!logarithmic || value > 0))
  if (values.length === 0) return logarithmic ? [1, 10] : [0, 1]
  const [low, greatest] = extent(values)
  const high = top ?? greatest
  if (low >= high) return [low - (Math.abs(low) || 1) * 0.1, low + (Math.abs(low) || 1) * 0.1]
  if (logarithmic) return [low, high]
  const space = (high - low) * 0.04
  return [low >= 0 ? Math.max(0, low - space) : low - space, high + (top === undefined ? space : 0)]
}

function seriesMarks(
  { points, color, smoothing = 1, dots = false, thin = false, label }: Series,
  {
    xLabel,
    strokeWidth: usual,
    clip,
  }: { readonly xLabel: string; readonly strokeWidth: number; readonly clip: boolean },
): Plot.Markish[] {
  const channels = { x: 'x', y: 'y', stroke: color, clip } as const
  const marks: Plot.Markish[] = []
  const strokeWidth = thin ? 1 : usual
  if (smoothing > 1) {
    const thick = Plot.windowY({ k: smoothing, anchor: 'middle' }, { ...channels, strokeWidth })
    marks.push(Plot.line(points, { ...channels, strokeWidth: 1, strokeOpacity: 0.25 }), Plot.line(points, thick))
  } else marks.push(Plot.line(points, { ...channels, strokeWidth }))
  if (dots) marks.push(Plot.dot(points, { x: 'x', y: 'y', fill: color, r: 3.5, clip }))
  const finite = points.filter(({ y }) => Number.isFinite(y))
  const pointed = finite.filter((_, index) => index % Math.ceil(finite.length / TOOLTIPS) === 0)
  const name = label.split(' (')[0]
  const title = ({ x, y }: Point) => `${name}, ${xLabel} ${textOf(x)}: ${Number(y.toPrecision(5))}`
  marks.push(Plot.dot(pointed, { x: 'x', y: 'y', fill: color, fillOpacity: 0, r: 6, title, clip }))
  return marks
}

function textOf(x: number | Date): string {
  return x instanceof Date ? x.toISOString().slice(0, 10) : x.toLocaleString('en-US')
}

/** The texts of rules at their right end, moved apart if lines are near each other. */
function ruleLabels(
  rules: readonly { readonly y: number; readonly text: string }[],
  [low, high]: readonly [number, number],
  logarithmic: boolean,
  inner: number,
  fontSize: number,
): Plot.Markish[] {
  const scale = logarithmic ? Math.log : (value: number) => value
  const places = rules.map(({ y }) => inner * (1 - (scale(y) - scale(low)) / (scale(high) - scale(low))))
  const moved = spread(places, fontSize * 1.35)
  return rules.map((rule, index) =>
    Plot.text([rule], {
      y: 'y',
      text: ({ text }) => visibleText(text),
      frameAnchor: 'right',
      textAnchor: 'start',
      dx: 8,
      dy: moved[index] - places[index],
      fill: 'var(--baseline)',
    }),
  )
}

/** The least and the greatest of values, of any number: `Math.min(...values)` takes some 100,000. ∞ and -∞ of none. */
export function extent(values: readonly number[]): readonly [least: number, greatest: number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    least = Math.min(least, value)
    greatest = Math.max(greatest, value)
  }
  return [least, greatest]
}

/**
 * Places for labels that are at least `distance` apart, as near to the wanted `places` as that allows: labels that touch
 * form a block around their mean (the pool-adjacent-violators algorithm).
 */
export function spread(places: readonly number[], distance: number): number[] {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b])
  const blocks: { readonly members: number[]; start: number }[] = []
  const startOf = (members: readonly number[]) =>
    members.reduce((sum, index, k) => sum + places[index] - k * distance, 0) / members.length
  for (const index of order) {
    blocks.push({ members: [index], start: places[index] })
    for (;;) {
      const [before, last] = blocks.slice(-2)
      if (before === undefined || last === undefined) break
      if (before.start + before.members.length * distance <= last.start) break
      before.members.push(...last.members)
      before.start = startOf(before.members)
      blocks.pop()
    }
  }
  const result = new Array<number>(places.length)
  for (const { members, start } of blocks)
    for (const [k, index] of members.entries()) result[index] = start + k * distance
  return result
}
