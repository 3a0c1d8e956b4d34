import { type GateWeights, histogramOf } from '@cudnn-rnn/train'
import * as Plot from '@observablehq/plot'
import { chartDocument } from './chart_document.js'

/** What stands on each side of a gate, and its colour. */
const SIDES: Readonly<Record<string, string>> = {
  input: 'var(--train)',
  recurrent: 'var(--held-out)',
  projection: 'var(--second)',
}

/**
 * How the weights of every gate are distributed, as HTML: a column per gate, a row per layer and direction, the input
 * and the recurrent side on top of each other. All share one horizontal axis.
 */
export function gateHistograms(gates: readonly GateWeights[]): string {
  const rows = gates.flatMap(({ name, values }) => {
    const [layer = '', direction = '', side = '', gate = 'projection'] = name.split('/')
    const { num, min, limits, counts } = histogramOf(values)
    const place = { layer: `${layer.replace('_', ' ')}, ${direction}`, side, gate: gate.replace('_', ' ') }
    return limits.map((limit, k) => ({
      ...place,
      low: limits[k - 1] ?? min,
      limit,
      share: counts[k]! / Math.max(1, num),
    }))
  })
  const layers = [...new Set(rows.map(({ layer }) => layer))]
  const chart = Plot.plot({
    document: chartDocument(),
    width: 860,
    height: 60 + 120 * layers.length,
    marginLeft: 48,
    marginRight: 130,
    style: { fontSize: '12px', background: 'transparent' },
    x: { label: 'weight', ticks: 4 },
    y: { label: null, ticks: 3, percent: true, grid: true },
    fx: { label: null, domain: [...new Set(rows.map(({ gate }) => gate))] },
    fy: { label: null, domain: layers },
    marks: Object.entries(SIDES).map(([side, color]) =>
      Plot.rectY(
        rows.filter((row) => row.side === side),
        {
          x1: 'low',
          x2: 'limit',
          y: 'share',
          fx: 'gate',
          fy: 'layer',
          fill: color,
          fillOpacity: 0.5,
          insetLeft: 0,
          insetRight: 0,
        },
      ),
    ),
  })
  const sides = Object.entries(SIDES).filter(([side]) => rows.some((row) => row.side === side))
  const legend = sides.map(([side, color]) => `<span><i style="background:${color}"></i>${side} side</span>`)
  return `<p class="legend">${legend.join('')} vertical: percent of the weights</p>\n${chart.outerHTML}`
}
