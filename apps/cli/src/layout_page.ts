import { escapeHtml, htmlPage } from '@cudnn-rnn/rnn/report'
import type { RnnDescriptor } from '@cudnn-rnn/rnn'
import { CELL_MODES, flatLayout, type PlacedRegion } from '@cudnn-rnn/rnn/canonical'

/** Lines the buffer is wrapped into, and their size on the page. */
const MAP_LINES = 12
const MAP_WIDTH = 1000
const LINE_HEIGHT = 26
const LINE_GAP = 6

/** Side of the largest tile of a canonical tensor, and the smallest that can still be hovered. */
const TILE_SIZE = 92
const SMALLEST_TILE = 7

/** Hue of each gate, by its place in the cell mode's list; the projection follows the gates. */
const HUES = [212, 28, 146, 322, 266]

/** The cell's gates in canonical order. */
type Gates = readonly string[]

const LIGHTNESS = { input: 46, recurrent: 62, projection: 54 }

/**
 * A self-contained page that draws the opaque buffer of a network to scale, wrapped into lines, next to its canonical
 * tensors; pointing at either side lights up the other and states layer, direction, gate, side, offset and shape.
 */
export function layoutPage(descriptor: RnnDescriptor): string {
  const layout = flatLayout(descriptor)
  const regions = [...layout.weights, ...layout.biases].filter(({ size }) => size > 0)
  const title = `Opaque parameters of ${describeDescriptor(descriptor)}`
  const megabytes = ((layout.size * 4) / 2 ** 20).toFixed(2)
  const lead = `${count(layout.size)} elements (${megabytes} MiB in float32): ${count(regions.length)} canonical tensors. All matrices come first, then all biases, with no padding: cuDNN's own order.`
  const pointed = '<p id="pointed" aria-live="polite">Point at a region or a tensor.</p>'
  const map = bufferMap(regions, layout.size, CELL_MODES[descriptor.cellMode].gates)
  return htmlPage({
    title,
    resultHtml: lead,
    style: STYLE,
    sections: [
      { heading: 'The buffer, to scale', html: `${pointed}\n${map}\n<p class="legend">${legend(descriptor)}</p>` },
      {
        heading: 'Its canonical tensors',
        html: `${canonicalCards(descriptor, regions)}\n<script>${SCRIPT}</script>`,
      },
    ],
  })
}

function bufferMap(regions: readonly PlacedRegion[], size: number, gates: Gates): string {
  const perLine = Math.ceil(size / MAP_LINES)
  const height = MAP_LINES * (LINE_HEIGHT + LINE_GAP)
  const pieces = regions.flatMap((region, index) =>
    splitIntoLines(region, perLine).map(({ line, begin, length }) => {
      const x = (begin / perLine) * MAP_WIDTH
      const width = Math.max(0.6, (length / perLine) * MAP_WIDTH)
      return `<rect data-region="${index}" x="${x.toFixed(2)}" y="${line * (LINE_HEIGHT + LINE_GAP)}" width="${width.toFixed(2)}" height="${LINE_HEIGHT}" ${paint(region, gates)}><title>${escapeHtml(describeRegion(region))}</title></rect>`
    }),
  )
  const offsets = Array.from({ length: MAP_LINES }, (_, line) => line).filter((line) => line * perLine < size)
  const labels = offsets.map(
    (line) =>
      `<text x="-10" y="${line * (LINE_HEIGHT + LINE_GAP) + 17}" text-anchor="end">${count(line * perLine)}</text>`,
  )
  return `<svg viewBox="-96 0 ${MAP_WIDTH + 100} ${height}" role="img" aria-label="Map of the opaque buffer">${pieces.join('')}${labels.join('')}</svg>`
}

/** The parts of a region on each line it crosses. */
function splitIntoLines({ offset, size }: PlacedRegion, perLine: number) {
  const parts: { line: number; begin: number; length: number }[] = []
  for (let position = offset; position < offset + size; ) {
    const line = Math.floor(position / perLine)
    const end = Math.min(offset + size, (line + 1) * perLine)
    parts.push({ line, begin: position - line * perLine, length: end - position })
    position = end
  }
  return parts
}

function canonicalCards(descriptor: RnnDescriptor, regions: readonly PlacedRegion[]): string {
  const longest = Math.max(...regions.map(({ shape }) => Math.max(...shape)))
  const scale = (length: number) => Math.max(SMALLEST_TILE, (length / longest) * TILE_SIZE)
  const { gates } = CELL_MODES[descriptor.cellMode]
  const pseudoLayers = [...new Set(regions.map(({ pseudoLayer }) => pseudoLayer))]
  const tile = (region: PlacedRegion) => {
    const [rows, columns = 1] = region.shape
    const name = `${region.kind === 'weight' ? 'weight' : 'bias'}_${region.linLayerId}`
    const index = regions.indexOf(region)
    return `<figure><span class="tile" data-region="${index}" title="${escapeHtml(describeRegion(region))}" style="width:${scale(columns).toFixed(1)}px;height:${scale(rows).toFixed(1)}px;${tileColor(region, gates)}"></span><figcaption>${name}<br>[${region.shape.join(',')}]</figcaption></figure>`
  }
  const cards = pseudoLayers.map((pseudoLayer) => {
    const own = regions.filter((region) => region.pseudoLayer === pseudoLayer)
    const [{ layer, direction }] = own as [PlacedRegion]
    const rows = (['input', 'recurrent', 'projection'] as const).flatMap((side) =>
      (['weight', 'bias'] as const).map((kind) => {
        const tiles = own.filter((region) => region.side === side && region.kind === kind)
        if (tiles.length === 0) return ''
        return `<div class="row"><span class="side">${side} ${kind === 'weight' ? 'matrices' : 'biases'}</span>${tiles.map(tile).join('')}</div>`
      }),
    )
    const name =
      descriptor.direction === 'bidirectional' ? `layer ${layer}, ${directionName(direction)}` : `layer ${layer}`
    return `<section><h3>${name}</h3>${rows.join('')}</section>`
  })
  return `<div class="cards">${cards.join('')}</div>`
}

function legend(descriptor: RnnDescriptor): string {
  const gates: Gates = CELL_MODES[descriptor.cellMode].gates
  const names = descriptor.numProj === undefined ? gates : [...gates, 'projection']
  const swatch = (name: string, index: number) =>
    `<span><i style="background:hsl(${HUES[index]} 60% 50%)"></i>${name.replaceAll('_', ' ')}</span>`
  return `${names.map(swatch).join('')}<span>darker: input side, lighter: recurrent side; biases: pale in the buffer, striped below</span>`
}

/** The gate's hue, darker on the input side; the projection's hue follows the gates' hues. */
function color({ gate, side }: PlacedRegion, gates: Gates): string {
  const hue = HUES[gate === undefined ? gates.length : gates.indexOf(gate)]
  return `hsl(${hue} 55% ${LIGHTNESS[side]}%)`
}

function paint(region: PlacedRegion, gates: Gates): string {
  return `fill="${color(region, gates)}"${region.kind === 'bias' ? ' fill-opacity=".55"' : ''}`
}

function tileColor(region: PlacedRegion, gates: Gates): string {
  const ink = color(region, gates)
  return `background:${region.kind === 'weight' ? ink : `repeating-linear-gradient(45deg,${ink} 0 3px,transparent 3px 6px)`}`
}

export function describeDescriptor(descriptor: RnnDescriptor): string {
  const { cellMode, numLayers, numUnits, inputSize, numProj, direction, inputMode } = descriptor
  const projection = numProj === undefined ? '' : `, projection ${numProj}`
  return `${cellMode}, ${numLayers} × ${numUnits} units${projection}, input ${inputSize}, ${direction}, ${inputMode}`
}

function describeRegion(region: PlacedRegion): string {
  const { kind, layer, direction, side, gate, shape, offset, size, linLayerId } = region
  const what = gate === undefined ? 'projection' : `${gate.replaceAll('_', ' ')} gate, ${side} side`
  return `${kind}_${linLayerId}: layer ${layer}, ${directionName(direction)}, ${what}; shape [${shape.join(',')}], offset ${count(offset)}, ${count(size)} elements`
}

function directionName(direction: 0 | 1): string {
  return direction === 0 ? 'forward' : 'backward'
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

const STYLE = `
body { max-width: 72rem; }
#pointed { position: sticky; top: 0; margin: 0; padding: .6rem .9rem; background: var(--paper); border: 1px solid var(--rule); border-radius: .4rem; font-variant-numeric: tabular-nums; z-index: 1; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: var(--baseline); font-variant-numeric: tabular-nums; }
[data-region] { cursor: crosshair; } rect[data-region] { stroke: var(--paper); stroke-width: .5; }
.on { outline: 2px solid var(--ink); outline-offset: 1px; } rect.on { stroke: var(--ink); stroke-width: 2; outline: none; }
.legend span { margin-right: 1.25rem; } .legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; vertical-align: -.1rem; border-radius: .15rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(31rem, 1fr)); gap: 1rem; }
section { border: 1px solid var(--rule); border-radius: .5rem; padding: .9rem 1rem; }
.row { display: flex; align-items: end; gap: .6rem; margin-bottom: .6rem; } .side { width: 6.5rem; color: var(--baseline); font-size: .8rem; flex: none; align-self: center; }
figure { margin: 0; text-align: center; } figcaption { font-size: .68rem; color: var(--baseline); line-height: 1.25; margin-top: .2rem; } .tile { display: inline-block; border-radius: 2px; }
`

const SCRIPT = `
const pointed = document.getElementById('pointed')
document.addEventListener('pointerover', ({ target }) => {
  const region = target.closest('[data-region]')
  if (region === null) return
  for (const lit of document.querySelectorAll('.on')) lit.classList.remove('on')
  for (const part of document.querySelectorAll('[data-region="' + region.dataset.region + '"]')) part.classList.add('on')
  pointed.textContent = (region.querySelector('title')?.textContent ?? region.title)
})
`
