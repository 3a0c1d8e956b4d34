// Charts of the benchmark pages as SVG, drawn by Observable Plot. Colors are custom properties of the theme, which has a light
// and a dark value of each.
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

/** SVG text shrinks with its picture, so a chart is drawn for both widths, and the page shows the one that fits. */
const SIZES = [
  { name: 'wide', width: 688, fontSize: 13, left: 290, ticks: 8 },
  { name: 'narrow', width: 312, fontSize: 12, left: 130, ticks: 4 },
]
const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-4)']
const ROW_HEIGHT = 22
const MARGIN_RIGHT = 16
const RULE = { stroke: 'currentColor', strokeDasharray: '5 4', strokeOpacity: 0.7 }

/**
 * Values by row as dots on a common axis. `series` is `[{ label, values: Map<row, number> }]`, `rules` vertical lines
 * `[{ x, text }]`. `log` is for ratios and for values of several magnitudes.
 */
export function dotChart({ caption, x, rows, series, rules = [], log = false, domain }) {
  const numbers = series.flatMap(({ values }) => [...values.values()])
  const labels = series.length > 1 ? series.map(({ label }) => label) : []
  const shown = domain ?? domainOf([...numbers, ...rules.map((rule) => rule.x)], log)
  return figure(caption, labels, rules, (size) => {
    const names = rowNames(rows, size)
    const space = size.width - names.options.marginLeft - MARGIN_RIGHT
    const labelSize = (value) => (numberText(value).length + 1) * letterWidth(size.fontSize)
    return {
      ...frame(size, rows.length * names.height + 66),
      x: { ...axis(x, size), ...(log ? logScale(shown, space, labelSize) : { domain: shown }) },
      ...names.options,
      marks: [
        Plot.ruleY(rows, { stroke: 'var(--chart-grid)' }),
        ...rules.map((rule) => Plot.ruleX([rule.x], { ...RULE, strokeWidth: 1.5 })),
        // Series are a little apart, so that equal values are seen.
        ...series.map(({ label, values }, index) =>
          Plot.dot([...values], {
            ...{ x: ([, value]) => value, y: ([row]) => row, fill: COLORS[index], r: 4.5 },
            dy: (index - (series.length - 1) / 2) * 5,
            title: ([row, value]) => `${row}, ${label}: ${Number(value.toPrecision(4))}`,
          }),
        ),
      ],
    }
  })
}

/** One bar from zero for each `[{ row, value, ours }]`; ours have the first color. */
export function barChart({ caption, x, bars }) {
  const rows = bars.map(({ row }) => row)
  return figure(caption, [], [], (size) => {
    const names = rowNames(rows, size)
    return {
      ...frame(size, rows.length * Math.max(30, names.height) + 60),
      marginRight: 58,
      x: { ...axis(x, size), ticks: size.ticks / 2, domain: [0, Math.max(...bars.map(({ value }) => value))] },
      ...names.options,
      marks: [
        Plot.barX(bars, {
          ...{ x: 'value', y: 'row', inset: 3 },
          fill: ({ ours }) => (ours ? COLORS[0] : 'var(--chart-other)'),
        }),
        Plot.text(bars, {
          ...{ x: 'value', y: 'row', textAnchor: 'start', dx: 6, fill: 'currentColor' },
          text: ({ value }) => value.toLocaleString('en-US'),
        }),
      ],
    }
  })
}

/** Lines through `[{ label, points: [{ x, y }] }]`, both axes logarithmic; `rules` are horizontal lines `[{ y, text }]`. */
export function lineChart({ caption, x, y, series, rules = [] }) {
  const labels = series.map(({ label }) => label)
  const points = series.flatMap((each) => each.points)
  return figure(caption, labels, rules, (size) => ({
    ...frame(size, 300),
    ...{ marginLeft: 46, marginTop: 30 },
    x: { ...axis(x, size), ...logScale(extent(points.map((point) => point.x)), size.width - 62, () => 40) },
    y: { label: y, grid: true, ...logScale(extent([...points, ...rules].map((point) => point.y)), 218, () => 30) },
    marks: [
      ...rules.map((rule) => Plot.ruleY([rule.y], RULE)),
      ...series.flatMap((each, index) => [
        Plot.line(each.points, { x: 'x', y: 'y', stroke: COLORS[index], strokeWidth: 2 }),
        Plot.dot(each.points, { x: 'x', y: 'y', fill: COLORS[index], r: 3.5 }),
      ]),
    ],
  }))
}

function frame({ fontSize, width }, height) {
  const style = { fontSize: `${fontSize}px`, background: 'transparent', overflow: 'visible' }
  return { document: plotDocument(), width, height, marginTop: 8, marginBottom: 52, marginRight: MARGIN_RIGHT, style }
}

function axis(label, { ticks }) {
  return { label, labelAnchor: 'center', labelArrow: 'none', labelOffset: 42, ticks, grid: true }
}

/** Names of rows beside the axis, in lines that fit the margin; a longer word widens it. */
function rowNames(rows, { left, fontSize }) {
  const letter = letterWidth(fontSize)
  const texts = new Map(rows.map((row) => [row, wrapped(row, Math.floor((left - 16) / letter))]))
  const lines = [...texts.values()].map((text) => text.split('\n'))
  const longest = Math.max(...lines.flat().map((line) => line.length))
  return {
    height: ROW_HEIGHT + 14 * (Math.max(...lines.map((each) => each.length)) - 1),
    options: {
      marginLeft: longest * letter + 16,
      y: { label: null, domain: rows, tickSize: 0, tickFormat: (row) => texts.get(row) },
    },
  }
}

function wrapped(row, most) {
  const lines = ['']
  // Sizes, such as 1 × 70 × 512, stay on one line.
  for (const word of row.replaceAll(' × ', '\u00a0×\u00a0').split(' ')) {
    const line = lines.at(-1)
    if (line !== '' && line.length + 1 + word.length > most) lines.push(word)
    else lines.splice(-1, 1, line === '' ? word : `${line} ${word}`)
  }
  return lines.join('\n')
}

const extent = (values) => [Math.min(...values), Math.max(...values)]

function domainOf(values, log) {
  const [low, high] = extent(values)
  return log ? [low / 1.08, high * 1.08] : [Math.min(0, low), high * 1.04]
}

/** The densest of tenths, of fifths, of 1, 2 and 5 times powers of ten, and of these powers, whose labels fit `space` pixels. */
function logScale(domain, space, labelSize) {
  const powers = Array.from({ length: 13 }, (_, index) => 10 ** (index - 6))
  const tenths = Array.from({ length: 20 }, (_, index) => (index + 1) / 10)
  const fifths = tenths.map((tick) => tick * 2)
  const byDensity = [tenths, fifths, powers.flatMap((power) => [power, 2 * power, 5 * power]), powers]
  const candidates = byDensity.map((ticks) => ticks.filter((tick) => tick >= domain[0] && tick <= domain[1]))
  const pixels = (ratio) => (space * Math.log(ratio)) / Math.log(domain[1] / domain[0])
  const fits = (ticks) =>
    ticks.length > 1 &&
    ticks[0] < 2.5 * domain[0] &&
    ticks.every((tick, index) => index === 0 || pixels(tick / ticks[index - 1]) >= labelSize(tick))
  return { type: 'log', domain, ticks: candidates.find(fits) ?? candidates[2], tickFormat: numberText }
}

const numberText = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 6 })
const letterWidth = (fontSize) => fontSize * 0.58

/** The legend names the colors and the dashed lines. */
function figure(caption, labels, rules, options) {
  const entries = [
    ...labels.map((label, index) => `<span><i style="background:${COLORS[index]}"></i>${escapeHtml(label)}</span>`),
    ...rules.map(({ text }) => `<span><i class="rule"></i>${escapeHtml(text)}</span>`),
  ]
  const legend = entries.length === 0 ? '' : `<p class="legend">${entries.join(' ')}</p>`
  const charts = SIZES.map((size) => {
    const svg = Plot.plot(options(size))
    // Vue allows no style elements in a page; the theme has Plot's rules.
    for (const style of svg.querySelectorAll('style')) style.remove()
    svg.setAttribute('class', `chart ${size.name}`)
    svg.setAttribute('role', 'img')
    svg.setAttribute('aria-label', caption)
    return svg.outerHTML
  })
  return `<figure v-pre class="chart"><figcaption>${escapeHtml(caption)}</figcaption>${legend}${charts.join('')}</figure>`
}

function plotDocument() {
  return parseHTML('<!doctype html><html><body></body></html>').document
}

function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
