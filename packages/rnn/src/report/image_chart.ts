import {
  checkArguments,
  FINITE,
  fields,
  listOf,
  type OptionsOf,
  optional,
  optionFields,
  POSITIVE,
  TEXT,
  typed,
} from '@cudnn-rnn/canonical/rules'
import * as Plot from '@observablehq/plot'
import { chartDocument } from './chart_document.js'
import { escapeHtml } from './escape_html.js'

const AXIS = {
  /** The quantity, with its unit. */
  label: TEXT,
  /** The value at the first edge. */
  from: FINITE,
  /** The value at the other edge. */
  to: FINITE,
}

/** An axis of an image: its quantity with the unit, and the values at its two edges. */
export interface ImageAxis extends OptionsOf<typeof AXIS> {}

const OPTIONS = {
  /** Text alternative for screen readers. */
  title: TEXT,
  /** A `data:` URL of the image, which is stretched over the chart. */
  source: TEXT,
  /** To the right. */
  x: typed<ImageAxis>(fields(AXIS)),
  /** Upwards. */
  y: typed<ImageAxis>(fields(AXIS)),
  /** The color scale, lowest first: CSS colors at equal distances. */
  key: typed<ImageAxis & { readonly colors: readonly string[] }>(fields({ ...AXIS, colors: listOf(TEXT, 1) })),
  /** In pixels. Default 300. */
  height: optional(POSITIVE),
}

export interface ImageChartOptions extends OptionsOf<typeof OPTIONS> {}

const WIDTH = 860
const KEY_WIDTH = 260
const MARGIN_TOP = 32
const MARGINS = { marginLeft: 64, marginRight: 24, marginBottom: 48 } as const
const STYLE = { fontSize: '13px', background: 'transparent' } as const

/**
 * An image with axes and a key of its colors, as HTML that needs no script: spectrograms, weights.
 *
 * @example
 * ```ts
 * import { imageChart } from '@cudnn-rnn/rnn/report'
 *
 * const source = 'data:image/png;base64,iVBORw0KGgo='
 * const x = { label: 'time (s)', from: 0, to: 2 }
 * const y = { label: 'frequency (kHz)', from: 0, to: 8 }
 * const key = { label: 'level (dB)', from: -80, to: 0, colors: ['black', 'white'] }
 * const html = imageChart({ title: 'Spectrogram of a sentence', source, x, y, key })
 * console.log(html.includes('frequency (kHz)')) // true
 * ```
 */
export function imageChart(options: ImageChartOptions): string {
  const { options: own } = checkArguments('draw an image', { options }, { options: optionFields(OPTIONS) })
  const { title, source, x, y, key, height = 300 } = own
  const common = { document: chartDocument(), width: WIDTH, style: STYLE, ...MARGINS }
  const place = { x1: x.from, x2: x.to, y1: y.from, y2: y.to }
  const chart = Plot.plot({
    ...common,
    height,
    x: { label: x.label, labelAnchor: 'center', labelOffset: 40, domain: [x.from, x.to] },
    y: { label: y.label, domain: [y.from, y.to] },
    marks: [
      Plot.image([place], {
        x: (x.from + x.to) / 2,
        y: (y.from + y.to) / 2,
        src: () => source,
        width: WIDTH - MARGINS.marginLeft - MARGINS.marginRight,
        height: height - MARGINS.marginBottom - MARGIN_TOP,
        preserveAspectRatio: 'none',
      }),
      Plot.frame({ stroke: 'var(--rule)' }),
    ],
    marginTop: MARGIN_TOP,
  })
  const step = (key.to - key.from) / key.colors.length
  const steps = key.colors.map((fill, index) => ({
    fill,
    x1: key.from + index * step,
    x2: key.from + (index + 1) * step,
  }))
  const legend = Plot.plot({
    ...common,
    height: 60,
    marginTop: 0,
    marginBottom: 44,
    marginLeft: WIDTH - KEY_WIDTH - MARGINS.marginRight,
    x: { label: key.label, labelAnchor: 'center', labelOffset: 38, domain: [key.from, key.to], ticks: 5 },
    y: { axis: null, domain: [0, 1] },
    marks: [Plot.rect(steps, { x1: 'x1', x2: 'x2', y1: 0, y2: 1, fill: 'fill', shapeRendering: 'crispEdges' })],
  })
  // On a narrow screen the chart scrolls horizontally: scaling would make its text unreadable.
  return `<figure role="img" aria-label="${escapeHtml(title)}" class="scrolled">${chart.outerHTML}\n${legend.outerHTML}</figure>`
}
