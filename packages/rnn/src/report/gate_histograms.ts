import { checkArguments, fields, listOf, NUMBERS, TEXT } from '@cudnn-rnn/canonical/rules'
import { type GateWeights, histogramOf } from '@cudnn-rnn/train'
import * as Plot from '@observablehq/plot'
import { chartDocument } from './chart_document.js'
import { type ChartSize, everySize } from './chart_sizes.js'
import { escapeHtml } from './escape_html.js'

/** The label on each side of a gate, and its color. */
const SIDES: ReadonlyMap<string, string> = new Map([
  ['input', 'var(--second)'],
  ['recurrent', 'var(--third)'],
  ['projection', 'var(--baseline)'],
])

const GATES = listOf(fields({ name: TEXT, values: NUMBERS }))

interface Bar {
  readonly layer: string
  readonly gate: string
  readonly side: string
  readonly low: number
  readonly limit: number
  readonly share: number
}

/**
 * How the weights of every gate are distributed, as HTML: a chart for each layer and direction with a part for each gate,
 * the input and the recurrent side on top of each other. All share one horizontal axis.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 * import { gateHistograms } from '@cudnn-rnn/rnn/report'
 * import { gateWeights } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
 * const gates = await gateWeights(gru, gru.createParams({ seed: 1 }).value)
 * console.log(gateHistograms(gates).includes('<svg')) // true
 * ```
 */
export function gateHistograms(gates: readonly GateWeights[]): string {
  const { gates: own } = checkArguments('draw histograms', { gates }, { gates: GATES })
  const bars = own.flatMap(({ name, values }): Bar[] => {
    const [layer = '', direction = '', side = '', gate = 'projection'] = name.split('/')
    const { num, min, limits, counts } = histogramOf(values)
    const place = { layer: `${layer.replace('_', ' ')}, ${direction}`, side, gate: gate.replace('_', ' ') }
    return limits.map((limit, k) => ({
      ...place,
      low: limits[k - 1] ?? min,
      limit,
      share: counts[k] / Math.max(1, num),
    }))
  })
  const domain: [number, number] = [
    bars.reduce((least, { low }) => Math.min(least, low), 0),
    bars.reduce((greatest, { limit }) => Math.max(greatest, limit), 0),
  ]
  const charts = [...new Set(bars.map(({ layer }) => layer))].map((layer) => {
    const own = bars.filter((bar) => bar.layer === layer)
    return `<h3>${escapeHtml(layer)}</h3>\n${everySize((size) => draw(own, domain, size))}`
  })
  const sides = [...SIDES].filter(([side]) => bars.some((bar) => bar.side === side))
  const legend = sides.map(([side, color]) => `<span><i style="background:${color}"></i>${side} side</span>`)
  return `<p class="legend">${legend.join('')} vertical: percent of the weights</p>\n${charts.join('\n')}`
}

/** Gates beside each other if there is room, below each other if there is not. */
function draw(bars: readonly Bar[], domain: readonly [number, number], { width, fontSize, className }: ChartSize) {
  const isWide = className === 'wide'
  const gates = [...new Set(bars.map(({ gate }) => gate))]
  const facet = isWide ? 'fx' : 'fy'
  return Plot.plot({
    document: chartDocument(),
    width,
    height: isWide ? 190 : 70 + 90 * gates.length,
    marginLeft: 48,
    marginTop: isWide ? 32 : 12,
    marginRight: isWide ? 24 : 92,
    marginBottom: 44,
    style: { fontSize: `${fontSize}px`, background: 'transparent' },
    x: {
      label: isWide ? null : 'weight',
      labelAnchor: 'center',
      labelOffset: 36,
      ticks: isWide ? 3 : 4,
      domain: [...domain],
    },
    y: { label: null, ticks: 3, percent: true, grid: true },
    [facet]: { label: null, domain: gates },
    marks: [...SIDES].map(([side, color]) =>
      Plot.rectY(
        bars.filter((bar) => bar.side === side),
        {
          ...{ x1: 'low', x2: 'limit', y: 'share', [facet]: 'gate' },
          ...{ fill: color, fillOpacity: 0.5, insetLeft: 0, insetRight: 0 },
        },
      ),
    ),
  })
}
